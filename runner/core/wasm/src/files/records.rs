//! The guard's record for each of the guest's descriptors.
//!
//! The run's resource table holds wasmtime-wasi's descriptors; the guard keeps its own data here, under the same
//! numbers. A descriptor without a host file of its own is a stand-in on which every file operation fails, in case one
//! reaches it.

use std::sync::{Arc, OnceLock};

use rustix::event::EventfdFlags;
use wasmtime::component::Resource;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, OpenMode};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::files::ledger::Permit;
use crate::files::open_file::OpenFile;
use crate::files::tree::NodeId;

#[derive(Debug)]
pub(crate) enum Record {
    /// A directory that exists only for the guest.
    Virtual(NodeId),
    /// A file in memory.
    Memory(usize),
    /// The directory of a mount itself.
    Root(usize),
    /// A directory below a mount; `path` is the guest's path.
    Dir { mount: usize, path: Arc<str> },
    /// A file. `granted`: its grant allows writing. `mode`: what the descriptor was opened for. It is named by a path
    /// below a directory.
    File { open: Arc<OpenFile>, granted: bool, mode: OpenMode, base: Arc<str>, path: String },
}

/// The records of all open descriptors, by their numbers in the table.
#[derive(Debug, Default)]
pub(crate) struct Records {
    entries: Vec<Option<(Record, Option<Permit>)>>,
}

impl Records {
    pub(crate) fn insert(&mut self, descriptor: &Resource<Descriptor>, record: Record, permit: Option<Permit>) {
        let index = descriptor.rep() as usize;
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, || None);
        }
        self.entries[index] = Some((record, permit));
    }

    /// Returns a descriptor's record. It exists, because the engine passes on only handles that the guest owns.
    pub(crate) fn get(&self, descriptor: &Resource<Descriptor>) -> FsResult<&Record> {
        let entry = self.entries.get(descriptor.rep() as usize).and_then(Option::as_ref);
        entry.map(|(record, _)| record).ok_or_else(|| FsError::trap(wasmtime::Error::msg("no such descriptor")))
    }

    pub(crate) fn remove(&mut self, descriptor: &Resource<Descriptor>) {
        if let Some(entry) = self.entries.get_mut(descriptor.rep() as usize) {
            *entry = None;
        }
    }
}

static STAND_IN: OnceLock<Dir> = OnceLock::new();

/// Returns a stand-in: a read-only "directory" descriptor without a directory behind it.
pub(crate) fn stand_in() -> std::io::Result<Descriptor> {
    if let Some(dir) = STAND_IN.get() {
        return Ok(Descriptor::Dir(dir.clone()));
    }
    // An eventfd is the cheapest descriptor to create.
    let nothing = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .or_else(|_| rustix::fs::open("/dev/null", rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty()))?;
    let dir = Dir::new(nothing.into(), FsPerms::ReadOnly, OpenMode::READ, true);
    Ok(Descriptor::Dir(STAND_IN.get_or_init(|| dir).clone()))
}
