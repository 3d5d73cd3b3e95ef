//! Operations on an open descriptor.

use std::os::fd::AsFd;
use std::sync::Arc;

use modbox_vocabulary::Operation;
use rustix::fs::FileType;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode, MetadataHashValue,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsResult};

use crate::files::errno::failed;
use crate::files::grants::{ARGS, WORKING};
use crate::files::guard::{FileGuard, GuardView};
use crate::files::open::stat_name;
use crate::files::open_file::OpenFile;
use crate::files::operations::listing::{Listing, TreeEntries};
use crate::files::operations::streams::{CHUNK, FileReader, FileWriter, MemoryReader};
use crate::files::records::{Record, stand_in};
use crate::files::stat;
use crate::files::stat::descriptor_type;
use crate::files::tree::{Kind, NodeId, join};
use crate::files::ways::paths::{MEMORY, NODE};
use crate::files::ways::target::Act;

type Fd = Resource<Descriptor>;

/// A descriptor, sorted by whether wasmtime-wasi's host can work on it.
pub(crate) enum Handle {
    /// A host descriptor in the resource table.
    Real(Fd),
    Virtual(NodeId),
    Memory(usize),
}

/// A file that a descriptor may read.
enum FileToRead<'g> {
    Host(&'g Arc<OpenFile>),
    Memory(&'g Arc<[u8]>),
}

impl GuardView<'_> {
    /// Returns the kind of handle behind a descriptor.
    pub(crate) fn handle(&mut self, fd: &Fd) -> FsResult<Handle> {
        Ok(match *self.guard.records.get(fd)? {
            Record::Virtual(node) => Handle::Virtual(node),
            Record::Memory(index) => Handle::Memory(index),
            Record::Root(mount) => Handle::Real(Resource::new_borrow(self.mount_dir(mount)?)),
            Record::Dir { .. } | Record::File { .. } => Handle::Real(Resource::new_borrow(fd.rep())),
        })
    }

    /// Returns whether a mount is writable, or `None` if the descriptor is not a mount. Guests ask for the flags and
    /// the type of every preopened directory, and use few of them.
    pub(crate) fn is_mount(&self, fd: &Fd) -> FsResult<Option<bool>> {
        Ok(match self.guard.records.get(fd)? {
            Record::Root(mount) => Some(self.guard.grants.mounts[*mount].writable),
            _ => None,
        })
    }

    /// Returns the preopened descriptors of a guest.
    pub(crate) fn preopen(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let mut given = Vec::with_capacity(self.guard.grants.preopens.len());
        for index in 0..self.guard.grants.preopens.len() {
            let node = self.guard.grants.preopens[index];
            let record = match self.guard.grants.tree.node(node).kind {
                Kind::Mount(mount) => Record::Root(mount),
                _ => Record::Virtual(node),
            };
            let fd = self.table.push(stand_in()?)?;
            self.guard.records.insert(&fd, record, None);
            given.push((fd, self.guard.grants.tree.node(node).path.to_string()));
        }
        Ok(given)
    }

    /// Returns a file that may be written to. A descriptor without the right is bad for that; where the grant lacks the
    /// right, too, it is a denial.
    pub(crate) fn file_to_write(&self, fd: &Fd, act: Act) -> FsResult<Arc<OpenFile>> {
        match self.guard.records.get(fd)? {
            Record::File { open, granted: true, mode, .. } if mode.contains(OpenMode::WRITE) => Ok(Arc::clone(open)),
            Record::File { granted: false, base, path, .. } => {
                self.guard.deny(act, &join(base, path));
                Err(ErrorCode::NotPermitted.into())
            }
            Record::Memory(_) => Err(ErrorCode::NotPermitted.into()),
            Record::File { .. } | Record::Virtual(_) | Record::Root(_) | Record::Dir { .. } => {
                Err(ErrorCode::BadDescriptor.into())
            }
        }
    }

    /// Returns a file whose size may be set. Of a descriptor without the right, Linux says that it is invalid.
    pub(crate) fn file_to_resize(&self, fd: &Fd) -> FsResult<Arc<OpenFile>> {
        let file = self.file_to_write(fd, Act::write(Operation::SetSize));
        file.map_err(|error| match error.downcast_ref() {
            Some(ErrorCode::BadDescriptor) => ErrorCode::Invalid.into(),
            _ => error,
        })
    }

    /// Returns a file that may be read.
    fn file_to_read(&self, fd: &Fd) -> FsResult<FileToRead<'_>> {
        match self.guard.records.get(fd)? {
            Record::File { open, mode, .. } if mode.contains(OpenMode::READ) => Ok(FileToRead::Host(open)),
            Record::Memory(index) => Ok(FileToRead::Memory(&self.guard.grants.memory[*index])),
            Record::Virtual(_) | Record::Root(_) | Record::Dir { .. } => Err(ErrorCode::IsDirectory.into()),
            Record::File { .. } => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// Records a denial if the times of a descriptor may not be set.
    pub(crate) fn may_set_times(&self, fd: &Fd) -> FsResult<()> {
        let act = Act::write(Operation::SetTimes);
        let (mount, path) = match self.guard.records.get(fd)? {
            Record::File { granted: true, .. } => return Ok(()),
            Record::File { base, path, .. } => (None, join(base, path).into()),
            Record::Root(mount) => (Some(*mount), self.guard.path_of(self.guard.grants.mounts[*mount].node)),
            Record::Dir { mount, path } => (Some(*mount), Arc::clone(path)),
            Record::Virtual(node) => return Err(self.deny_node(*node, act)),
            Record::Memory(_) => return Err(ErrorCode::NotPermitted.into()),
        };
        if mount.is_some_and(|mount| self.guard.grants.mounts[mount].writable) {
            return Ok(());
        }
        self.guard.deny(act, &path);
        Err(ErrorCode::NotPermitted.into())
    }

    pub(crate) fn read_at(&self, fd: &Fd, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(CHUNK);
        let bytes = match self.file_to_read(fd)? {
            FileToRead::Host(open) => open.read(length, offset)?,
            FileToRead::Memory(all) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
                all[start..all.len().min(start + length)].to_vec()
            }
        };
        let ended = bytes.is_empty();
        Ok((bytes, ended))
    }

    pub(crate) fn reader(&mut self, fd: &Fd, offset: u64) -> FsResult<Resource<DynInputStream>> {
        let reader: DynInputStream = match self.file_to_read(fd)? {
            FileToRead::Host(open) => Box::new(FileReader::new(Arc::clone(open), offset)),
            FileToRead::Memory(bytes) => Box::new(MemoryReader::new(Arc::clone(bytes), offset)),
        };
        Ok(self.table.push(reader)?)
    }

    pub(crate) fn writer(&mut self, fd: &Fd, offset: Option<u64>) -> FsResult<Resource<DynOutputStream>> {
        let operation = if offset.is_some() { Operation::WriteViaStream } else { Operation::AppendViaStream };
        let file = self.file_to_write(fd, Act::write(operation))?;
        let writer: DynOutputStream = match offset {
            Some(offset) => Box::new(FileWriter::at(file, offset)),
            None => Box::new(FileWriter::append(file)),
        };
        Ok(self.table.push(writer)?)
    }

    pub(crate) fn list(&mut self, fd: &Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        let (node, mount) = match self.guard.records.get(fd)? {
            // The machine's directory has other entries: a list of those that are granted would pass for all of them.
            Record::Virtual(node) if &*self.guard.path_of(*node) != ARGS => {
                return Err(self.deny_node(*node, Act::read(Operation::OpenAt)));
            }
            Record::Virtual(node) => (Some(*node), None),
            Record::Root(mount) => {
                let node = self.guard.grants.mounts[*mount].node;
                (Some(node), Some((*mount, None)))
            }
            Record::Dir { mount, path } => {
                let nested = self.guard.grants.mounts[*mount].nested;
                let node = nested.then(|| self.guard.grants.tree.find(path)).flatten();
                (node, Some((*mount, Some(fd.rep()))))
            }
            Record::Memory(_) | Record::File { .. } => return Err(ErrorCode::NotDirectory.into()),
        };
        let tree = node.map(|node| self.guard.tree_entries(node)).unwrap_or_default();
        let permit = self.permit()?;
        let listing = match mount {
            None => Listing::of_tree(tree, permit),
            Some((mount, dir)) => {
                let dir = match dir {
                    Some(dir) => dir,
                    None => self.mount_dir(mount)?,
                };
                let dir = self.host_dir(dir)?;
                Listing::of_host(dir, tree, permit).map_err(failed)?
            }
        };
        let listing = self.table.push(listing)?;
        Ok(Resource::new_own(listing.rep()))
    }

    pub(crate) fn listing(&mut self, stream: &Resource<DirectoryEntryStream>) -> FsResult<&mut Listing> {
        Ok(self.table.get_mut(&Resource::<Listing>::new_borrow(stream.rep()))?)
    }

    pub(crate) fn stat_virtual(&self, handle: &Handle) -> DescriptorStat {
        match handle {
            Handle::Memory(index) => self.stat_memory(*index),
            Handle::Virtual(_) | Handle::Real(_) => stat::of_virtual(DescriptorType::Directory, 0, self.guard.made),
        }
    }

    pub(crate) fn hash_virtual(handle: &Handle) -> MetadataHashValue {
        match handle {
            Handle::Virtual(node) => stat::hash_of_virtual(NODE, *node),
            Handle::Memory(index) => stat::hash_of_virtual(MEMORY, *index),
            Handle::Real(fd) => stat::hash_of_virtual(NODE, fd.rep() as usize),
        }
    }
}

impl FileGuard {
    /// Returns the entries that the tree adds to a directory: nested grants that exist, and temporaries.
    fn tree_entries(&self, dir: NodeId) -> TreeEntries {
        let mut tree = TreeEntries::default();
        for child in &self.grants.tree.node(dir).children {
            let node = self.grants.tree.node(*child);
            if &*node.path == WORKING {
                continue;
            }
            let type_ = match node.kind {
                // A directory of the mount; the host lists it.
                Kind::Inside | Kind::Failing(_) => continue,
                Kind::Virtual | Kind::Mount(_) => Some(DescriptorType::Directory),
                Kind::Memory(_) => Some(DescriptorType::RegularFile),
                Kind::Name(index) => self.type_of_name(index),
            };
            tree.hidden.insert(node.name().to_owned());
            tree.entries.extend(type_.map(|type_| DirectoryEntry { type_, name: node.name().to_owned() }));
        }
        for (name, host_name) in self.temporaries.names(dir) {
            tree.entries.push(DirectoryEntry { type_: DescriptorType::RegularFile, name: name.clone() });
            tree.hidden.extend([name, host_name]);
        }
        tree
    }

    fn type_of_name(&self, index: usize) -> Option<DescriptorType> {
        let name = &self.grants.names[index];
        let stat = stat_name(name.parent.as_fd(), &name.name).ok()?;
        Some(descriptor_type(FileType::from_raw_mode(stat.st_mode)))
    }
}
