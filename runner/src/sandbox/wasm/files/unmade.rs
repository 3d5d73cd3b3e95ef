//! The guest's own directory before it is made, and its identity from then on.
//!
//! Most guests look at `/tmp` when they start, to make it the directory that they work in, and never again. To make it on
//! the host and to remove it takes longer than many of them run, so what it looks like is told without it, until
//! something is done in it. For the guest it is the same directory before and after that.

use rustix::fs::Stat;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorStat, DescriptorType, MetadataHashValue};

use crate::sandbox::wasm::files::grants::HostDir;
use crate::sandbox::wasm::files::paths::NODE;
use crate::sandbox::wasm::files::records::Record;
use crate::sandbox::wasm::files::tree::{Kind, Place};
use crate::sandbox::wasm::files::{FileGuard, GuardView, stat};

impl GuardView<'_> {
    /// Returns the mount whose own directory a path leads to, if that is not made yet.
    pub(super) fn unmade(&self, fd: &Resource<Descriptor>, path: &str) -> FsResult<Option<usize>> {
        let guard = &*self.guard;
        let mount = match guard.records.get(fd)? {
            Record::Root(mount) if path == "." => Some(*mount),
            Record::Virtual(node) if !path.starts_with('/') => match guard.grants.tree.walk(*node, path) {
                Place::Node { id, .. } => match guard.grants.tree.node(id).kind {
                    Kind::Mount(mount) => Some(mount),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        Ok(mount.filter(|mount| matches!(guard.grants.mounts[*mount].dir, HostDir::Later)))
    }

    /// Returns the identity behind a descriptor of the host's, as the guest knows it.
    pub(super) fn known_by(&self, fd: &Resource<Descriptor>, hash: MetadataHashValue) -> FsResult<MetadataHashValue> {
        Ok(match self.guard.records.get(fd)? {
            Record::Root(mount) | Record::Dir { mount, .. } => self.guard.known_as(*mount, hash),
            _ => hash,
        })
    }
}

impl FileGuard {
    /// Describes a directory that is not made yet.
    pub(super) fn stat_unmade(&self) -> DescriptorStat {
        stat::of_own(DescriptorType::Directory, 0, self.made)
    }

    /// The identity of a directory that was not made when the guest got it.
    pub(super) fn hash_unmade(&self, mount: usize) -> MetadataHashValue {
        stat::hash_of_own(NODE, self.grants.mounts[mount].node)
    }

    /// Notes that the directory of a mount was made.
    pub(super) fn note_made(&mut self, mount: usize, seen: &Stat) {
        self.grants.mounts[mount].made = Some(stat::hash_of_host(seen));
    }

    /// Returns the identity of what lies in a mount, as the guest knows it.
    pub(super) fn known_as(&self, mount: usize, hash: MetadataHashValue) -> MetadataHashValue {
        match &self.grants.mounts[mount].made {
            Some(made) if (made.lower, made.upper) == (hash.lower, hash.upper) => self.hash_unmade(mount),
            _ => hash,
        }
    }
}
