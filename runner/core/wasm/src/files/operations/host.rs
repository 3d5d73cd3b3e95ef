//! Implements the traits that the engine calls. Each method looks up the descriptor's record and delegates.
//!
//! These are the traits with synchronous methods. An `async` host call costs the engine an allocation and a poll, and
//! no file call of a guest has to wait. wasmtime-wasi generates its types twice, synchronous and `async`. The guard
//! itself uses the `async` types, because the error type belongs to them.

use modbox_vocabulary::Operation;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    ErrorCode as Code, Host as StockHost, HostDescriptor as Stock, MetadataHashValue as Hash,
};
use wasmtime_wasi::p2::bindings::sync::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode,
    Filesize, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use crate::files::guard::{GuardView, finish_now};
use crate::files::operations::descriptors::Handle;
use crate::files::operations::listing::Listing;
use crate::files::operations::times;
use crate::files::stat;
use crate::files::ways::target::Act;

type Fd = Resource<Descriptor>;

impl preopens::Host for GuardView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.preopen()
    }
}

impl types::Host for GuardView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        Ok(error.downcast()?.into())
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(StockHost::filesystem_error_code(&mut self.stock(), error)?.map(Into::into))
    }
}

impl types::HostDescriptor for GuardView<'_> {
    fn advise(&mut self, fd: Fd, offset: Filesize, length: Filesize, advice: Advice) -> FsResult<()> {
        match self.handle(&fd)? {
            Handle::Real(fd) => finish_now(Stock::advise(&mut self.stock(), fd, offset, length, advice.into())),
            Handle::Memory(_) => Ok(()),
            Handle::Virtual(_) => Err(Code::BadDescriptor.into()),
        }
    }

    fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        match self.handle(&fd)? {
            Handle::Real(fd) => finish_now(Stock::sync_data(&mut self.stock(), fd)),
            Handle::Memory(_) | Handle::Virtual(_) => Ok(()),
        }
    }

    fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        if let Some(writable) = self.is_mount(&fd)? {
            let mutate = if writable { DescriptorFlags::MUTATE_DIRECTORY } else { DescriptorFlags::empty() };
            return Ok(DescriptorFlags::READ | mutate);
        }
        match self.handle(&fd)? {
            Handle::Real(fd) => Ok(finish_now(Stock::get_flags(&mut self.stock(), fd))?.into()),
            Handle::Memory(_) | Handle::Virtual(_) => Ok(DescriptorFlags::READ),
        }
    }

    fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        if self.is_mount(&fd)?.is_some() {
            return Ok(DescriptorType::Directory);
        }
        match self.handle(&fd)? {
            Handle::Real(fd) => Ok(finish_now(Stock::get_type(&mut self.stock(), fd))?.into()),
            Handle::Memory(_) => Ok(DescriptorType::RegularFile),
            Handle::Virtual(_) => Ok(DescriptorType::Directory),
        }
    }

    fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        Ok(self.file_to_resize(&fd)?.set_size(size)?)
    }

    fn set_times(&mut self, fd: Fd, access: NewTimestamp, modification: NewTimestamp) -> FsResult<()> {
        self.may_set_times(&fd)?;
        match self.handle(&fd)? {
            Handle::Real(fd) => finish_now(Stock::set_times(&mut self.stock(), fd, access.into(), modification.into())),
            Handle::Memory(_) | Handle::Virtual(_) => Err(Code::NotPermitted.into()),
        }
    }

    fn read(&mut self, fd: Fd, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.read_at(&fd, length, offset)
    }

    fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        Ok(self.file_to_write(&fd, Act::write(Operation::Write))?.write(&bytes, offset)? as u64)
    }

    fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.list(&fd)
    }

    fn sync(&mut self, fd: Fd) -> FsResult<()> {
        match self.handle(&fd)? {
            Handle::Real(fd) => finish_now(Stock::sync(&mut self.stock(), fd)),
            Handle::Memory(_) | Handle::Virtual(_) => Ok(()),
        }
    }

    fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.make_dir(&fd, path)
    }

    fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        let seen = match self.handle(&fd)? {
            Handle::Real(fd) => stat::of_host(&self.host_stat(&fd)?),
            other => self.stat_virtual(&other),
        };
        Ok(seen.into())
    }

    fn stat_at(&mut self, fd: Fd, follow: PathFlags, path: String) -> FsResult<DescriptorStat> {
        Ok(self.look(&fd, follow.into(), path)?.into())
    }

    fn set_times_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        self.set_path_times(&fd, follow.into(), path, &times::read(access.into(), modification.into())?)
    }

    fn link_at(&mut self, fd: Fd, follow: PathFlags, path: String, to: Fd, new: String) -> FsResult<()> {
        self.link(follow.into(), (fd, path), (to, new))
    }

    fn open_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        self.open(&fd, follow.into(), path, open.into(), flags.into())
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.guard.records.remove(&fd);
        self.table.delete(fd)?;
        Ok(())
    }

    fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.read_link(&fd, path)
    }

    fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.remove_dir(&fd, path)
    }

    fn rename_at(&mut self, fd: Fd, path: String, to: Fd, new: String) -> FsResult<()> {
        self.rename((fd, path), (to, new))
    }

    fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.make_link(&fd, &target, path)
    }

    fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.unlink(&fd, path)
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.reader(&fd, offset)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, Some(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, None)
    }

    fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        let failed = |error| wasmtime::Error::msg(format!("{error:?}"));
        let handle = |view: &mut Self, fd: &Fd| view.handle(fd).map_err(failed);
        let look = |view: &mut Self, fd: &Fd| view.host_stat(fd).map_err(failed);
        match (handle(self, &a)?, handle(self, &b)?) {
            (Handle::Real(a), Handle::Real(b)) => {
                Ok(stat::identity(&look(self, &a)?) == stat::identity(&look(self, &b)?))
            }
            (Handle::Virtual(a), Handle::Virtual(b)) | (Handle::Memory(a), Handle::Memory(b)) => Ok(a == b),
            _ => Ok(false),
        }
    }

    fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        let hash: Hash = match self.handle(&fd)? {
            Handle::Real(real) => stat::hash_of_host(&self.host_stat(&real)?),
            other => Self::hash_virtual(&other),
        };
        Ok(hash.into())
    }

    fn metadata_hash_at(&mut self, fd: Fd, follow: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        Ok(self.identity(&fd, follow.into(), path)?.into())
    }
}

impl types::HostDirectoryEntryStream for GuardView<'_> {
    fn read_directory_entry(&mut self, stream: Resource<DirectoryEntryStream>) -> FsResult<Option<DirectoryEntry>> {
        Ok(self.listing(&stream)?.next()?.map(Into::into))
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}
