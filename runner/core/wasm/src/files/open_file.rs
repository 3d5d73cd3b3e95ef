//! An open file that charges every write to the quotas first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::{Errno, ReadWriteFlags};

use crate::files::ledger::{Permit, QuotaExceeded, Share};

/// An open file. Streams share it with the descriptor and may outlive it.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: Arc<std::fs::File>,
    /// The largest size known, so that only a write beyond it must ask the kernel for the real size.
    end: AtomicU64,
    share: Share,
    permit: Permit,
}

impl From<QuotaExceeded> for io::Error {
    fn from(_: QuotaExceeded) -> Self {
        Errno::NOSPC.into()
    }
}

impl OpenFile {
    pub(crate) fn new(file: Arc<std::fs::File>, size: u64, share: Share, permit: Permit) -> Self {
        Self { file, end: AtomicU64::new(size), share, permit }
    }

    /// Reads at most `size` bytes at a position; returns no bytes at the end of the file.
    pub(crate) fn read(&self, size: usize, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(size);
        loop {
            match rustix::io::pread(&self.file, rustix::buffer::spare_capacity(&mut bytes), offset) {
                Ok(_) => return Ok(bytes),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Writes at a position, with one system call; returns the number of bytes written.
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let after = offset.checked_add(bytes.len() as u64).ok_or(Errno::FBIG)?;
        // A hole that the write leaves before itself is charged too. An empty write leaves no hole.
        let behind = offset > self.end.load(Ordering::Relaxed) && !bytes.is_empty();
        let hole = if behind { offset.saturating_sub(self.size()?) } else { 0 };
        let written = self.charged(bytes.len(), hole, || rustix::io::pwrite(&self.file, bytes, offset))?;
        if written == bytes.len() && written > 0 {
            self.end.fetch_max(after, Ordering::Relaxed);
        }
        Ok(written)
    }

    /// Writes at the end of the file, with one system call; returns the number of bytes written.
    pub(crate) fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let iov = [io::IoSlice::new(bytes)];
        self.charged(bytes.len(), 0, || match rustix::io::pwritev2(&self.file, &iov, 0, ReadWriteFlags::APPEND) {
            Err(Errno::NOSYS | Errno::NOTSUP) => {
                rustix::io::pwrite(&self.file, bytes, rustix::fs::fstat(&self.file)?.st_size.try_into().unwrap_or(0))
            }
            other => other,
        })
    }

    fn charged(&self, bytes: usize, hole: u64, write: impl Fn() -> rustix::io::Result<usize>) -> io::Result<usize> {
        let bytes = bytes as u64;
        let charge = bytes.saturating_add(hole);
        self.permit.ledger().take_bytes(self.share, charge)?;
        let written = loop {
            match write() {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let used = written.map_or(0, |written| written as u64 + hole);
        self.permit.ledger().give_bytes(self.share, charge.saturating_sub(used));
        Ok(written?)
    }

    /// Sets the size. Added bytes are charged as written.
    pub(crate) fn set_size(&self, size: u64) -> io::Result<()> {
        let grows = size.saturating_sub(self.size()?);
        self.permit.ledger().take_bytes(self.share, grows)?;
        let set = rustix::fs::ftruncate(&self.file, size);
        if set.is_err() {
            self.permit.ledger().give_bytes(self.share, grows);
        } else {
            self.end.store(size, Ordering::Relaxed);
        }
        Ok(set?)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(u64::try_from(rustix::fs::fstat(&self.file)?.st_size).unwrap_or(0))
    }
}
