//! Puts a file of a granted directory, or of the guest's `/tmp`, into the place of a granted name. The name lies in a directory
//! that is not granted, so the file's bytes are copied into a temporary there, which then takes the place at once.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::files::errno::failed;
use crate::files::guard::GuardView;
use crate::files::ledger::Share;
use crate::files::open_file::OpenFile;
use crate::files::replacing::keep::Lost;
use crate::files::ways::target::{Act, Entry};

/// The bytes of one read and write.
const PART: usize = 256 << 10;

impl GuardView<'_> {
    /// Moves an entry to a granted name. Returns what the new file could not keep.
    pub(crate) fn publish_entry(&mut self, file: &Entry, index: usize, dir: bool, act: Act) -> FsResult<Lost> {
        self.may_change(file.mount, || file.guest(), act)?;
        self.writable(index, act)?;
        if dir || file.slash {
            return Err(ErrorCode::NotDirectory.into());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let source = rustix::fs::openat(self.entry_dir(file)?, file.plain_name(), flags, Mode::empty());
        let source = source.map_err(failed)?;
        if !FileType::from_raw_mode(rustix::fs::fstat(&source).map_err(failed)?.st_mode).is_file() {
            return Err(ErrorCode::CrossDevice.into());
        }
        let permit = self.permit()?;
        self.guard.ledger.take_file()?;
        let name = &self.guard.grants.names[index];
        let place = (&name.parent, name.host.parent().unwrap_or_else(|| Path::new("/")));
        let node = self.guard.grants.tree.node(name.node);
        let made = self.guard.temporaries.make((node.parent, node.name()), place, OFlags::WRONLY);
        let (fd, temporary) = made.inspect_err(|_| self.guard.ledger.give_file())?;
        let copy = OpenFile::new(Arc::new(fd.into()), 0, Share::All, permit);
        let published = copy_all(source.as_fd(), &copy).and_then(|()| self.publish(&temporary, index, dir, act));
        if published.is_err() {
            self.guard.temporaries.remove(&temporary);
        } else {
            // The file stays in the guest's directory if this fails.
            let _ = rustix::fs::unlinkat(self.entry_dir(file)?, file.plain_name(), AtFlags::empty());
        }
        published
    }
}

/// Copies a file. Each byte counts towards the quotas.
fn copy_all(source: BorrowedFd<'_>, copy: &OpenFile) -> FsResult<()> {
    let mut buffer = vec![0_u8; PART];
    let mut position = 0;
    loop {
        let length = match rustix::io::pread(source, &mut buffer[..], position) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(failed(errno)),
        };
        let mut written = 0;
        while written < length {
            let part = copy.write(&buffer[written..length], position + written as u64)?;
            if part == 0 {
                return Err(ErrorCode::InsufficientSpace.into());
            }
            written += part;
        }
        position += length as u64;
    }
}
