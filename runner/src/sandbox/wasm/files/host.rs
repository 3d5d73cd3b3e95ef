//! The traits that the engine calls. Each method looks at what stands behind the descriptor and hands on.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode,
    Filesize, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use crate::sandbox::wasm::files::descriptors::Handle;
use crate::sandbox::wasm::files::listing::Listing;
use crate::sandbox::wasm::files::resolve::Act;
use crate::sandbox::wasm::files::{GuardView, times};

type Fd = Resource<Descriptor>;

impl preopens::Host for GuardView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.preopen()
    }
}

impl types::Host for GuardView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        self.stock().filesystem_error_code(error)
    }
}

impl HostDescriptor for GuardView<'_> {
    async fn advise(&mut self, fd: Fd, offset: Filesize, length: Filesize, advice: Advice) -> FsResult<()> {
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().advise(fd, offset, length, advice).await,
            Handle::Memory(_) => Ok(()),
            Handle::Virtual(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().sync_data(fd).await,
            Handle::Memory(_) | Handle::Virtual(_) => Ok(()),
        }
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        if let Some(writable) = self.is_mount(&fd)? {
            let mutate = if writable { DescriptorFlags::MUTATE_DIRECTORY } else { DescriptorFlags::empty() };
            return Ok(DescriptorFlags::READ | mutate);
        }
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().get_flags(fd).await,
            Handle::Memory(_) | Handle::Virtual(_) => Ok(DescriptorFlags::READ),
        }
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        if self.is_mount(&fd)?.is_some() {
            return Ok(DescriptorType::Directory);
        }
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().get_type(fd).await,
            Handle::Memory(_) => Ok(DescriptorType::RegularFile),
            Handle::Virtual(_) => Ok(DescriptorType::Directory),
        }
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        Ok(self.file_to_write(&fd, Act::write("set-size"))?.set_size(size)?)
    }

    async fn set_times(&mut self, fd: Fd, access: NewTimestamp, modification: NewTimestamp) -> FsResult<()> {
        self.may_set_times(&fd)?;
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().set_times(fd, access, modification).await,
            Handle::Memory(_) | Handle::Virtual(_) => Err(ErrorCode::NotPermitted.into()),
        }
    }

    async fn read(&mut self, fd: Fd, length: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.read_at(&fd, length, offset)
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        Ok(self.file_to_write(&fd, Act::write("write"))?.write(&bytes, offset)? as u64)
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.list(&fd)
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().sync(fd).await,
            Handle::Memory(_) | Handle::Virtual(_) => Ok(()),
        }
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.make_dir(fd, path).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().stat(fd).await,
            own => Ok(self.stat_own(&own)),
        }
    }

    async fn stat_at(&mut self, fd: Fd, follow: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.look(fd, follow, path).await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        self.set_path_times(&fd, follow, path, &times::read(access, modification)?)
    }

    async fn link_at(&mut self, fd: Fd, follow: PathFlags, path: String, to: Fd, new: String) -> FsResult<()> {
        self.link(follow, (fd, path), (to, new)).await
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        self.open(fd, follow, path, open, flags).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.guard.records.remove(&fd);
        self.table.delete(fd)?;
        Ok(())
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.read_link(fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.remove_dir(fd, path).await
    }

    async fn rename_at(&mut self, fd: Fd, path: String, to: Fd, new: String) -> FsResult<()> {
        self.rename((fd, path), (to, new)).await
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.make_link(fd, target, path).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.unlink(fd, path).await
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

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        let handle =
            |view: &mut Self, fd: &Fd| view.handle(fd).map_err(|error| wasmtime::Error::msg(format!("{error:?}")));
        match (handle(self, &a)?, handle(self, &b)?) {
            (Handle::Real(a), Handle::Real(b)) => self.stock().is_same_object(a, b).await,
            (Handle::Virtual(a), Handle::Virtual(b)) | (Handle::Memory(a), Handle::Memory(b)) => Ok(a == b),
            _ => Ok(false),
        }
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        match self.handle(&fd)? {
            Handle::Real(fd) => self.stock().metadata_hash(fd).await,
            own => Ok(Self::hash_own(&own)),
        }
    }

    async fn metadata_hash_at(&mut self, fd: Fd, follow: PathFlags, path: String) -> FsResult<MetadataHashValue> {
        self.identity(fd, follow, path).await
    }
}

impl HostDirectoryEntryStream for GuardView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.listing(&stream)?.next()
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}
