//! Streams over files. They read and write on the guest's own thread at once, and are always ready.
//!
//! wasmtime-wasi's own streams hand every non-blocking call to a thread pool, and have no quota.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use rustix::io::Errno;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::files::open_file::OpenFile;

/// The most bytes of one read or write. The host allocates as many.
pub(crate) const CHUNK: usize = 64 << 10;

/// A stream that reads a file from a position on.
pub(crate) struct FileReader {
    file: Arc<OpenFile>,
    position: u64,
}

/// A stream that reads bytes in memory.
pub(crate) struct MemoryReader {
    bytes: Arc<[u8]>,
    position: usize,
}

/// A stream that writes a file from a position on, or at its end.
pub(crate) struct FileWriter {
    file: Arc<OpenFile>,
    position: Option<u64>,
    /// Set after an error, as WASI requires.
    closed: bool,
}

impl FileReader {
    pub(crate) fn new(file: Arc<OpenFile>, position: u64) -> Self {
        Self { file, position }
    }
}

impl MemoryReader {
    pub(crate) fn new(bytes: Arc<[u8]>, position: u64) -> Self {
        Self { position: usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len()), bytes }
    }
}

impl FileWriter {
    pub(crate) fn at(file: Arc<OpenFile>, position: u64) -> Self {
        Self { file, position: Some(position), closed: false }
    }

    pub(crate) fn append(file: Arc<OpenFile>) -> Self {
        Self { file, position: None, closed: false }
    }

    /// Writes all bytes. Even no bytes are written once, so that a descriptor that is not open for writing fails.
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let written = match &mut self.position {
                Some(position) => {
                    let written = self.file.write(bytes, *position)?;
                    *position += written as u64;
                    written
                }
                None => self.file.append(bytes)?,
            };
            bytes = &bytes[written..];
            if bytes.is_empty() {
                return Ok(());
            }
            if written == 0 {
                return Err(Errno::NOSPC.into());
            }
        }
    }
}

fn failed(error: io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}

#[wasmtime_wasi::async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {}
}

impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let bytes = self.file.read(size.min(CHUNK), self.position).map_err(failed)?;
        if bytes.is_empty() {
            return Err(StreamError::Closed);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.into())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for MemoryReader {
    async fn ready(&mut self) {}
}

impl InputStream for MemoryReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let end = self.bytes.len().min(self.position.saturating_add(size.min(CHUNK)));
        if end == self.position {
            return Err(StreamError::Closed);
        }
        let bytes = Bytes::copy_from_slice(&self.bytes[self.position..end]);
        self.position = end;
        Ok(bytes)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if self.closed {
            return Err(StreamError::Closed);
        }
        self.write_all(&bytes).map_err(|error| {
            self.closed = true;
            failed(error)
        })
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        if self.closed { Err(StreamError::Closed) } else { Ok(()) }
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        if self.closed { Err(StreamError::Closed) } else { Ok(CHUNK) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use modbox_vocabulary::Limits;

    use super::*;
    use crate::files::ledger::{Ledger, Share};

    fn open_file(file: File) -> Arc<OpenFile> {
        let ledger = Arc::new(Ledger::new(&Limits::default()));
        let permit = ledger.take_descriptor().unwrap();
        Arc::new(OpenFile::new(Arc::new(file), 0, Share::All, permit))
    }

    fn new_file(dir: &Path) -> File {
        File::create_new(dir.join("file")).unwrap()
    }

    #[test]
    fn an_empty_write_fails_on_a_file_open_for_reading() {
        let dir = tempfile::tempdir().unwrap();
        new_file(dir.path());
        let file = open_file(File::open(dir.path().join("file")).unwrap());
        for mut writer in [FileWriter::at(Arc::clone(&file), 0), FileWriter::append(file)] {
            assert!(matches!(writer.write(Bytes::new()), Err(StreamError::LastOperationFailed(_))));
            assert!(matches!(writer.check_write(), Err(StreamError::Closed)));
        }
    }

    #[test]
    fn an_empty_write_beyond_the_end_makes_no_hole_and_takes_no_quota() {
        let dir = tempfile::tempdir().unwrap();
        let file = open_file(new_file(dir.path()));
        let mut writer = FileWriter::at(Arc::clone(&file), 1 << 40);
        writer.write(Bytes::new()).unwrap();
        assert_eq!(file.write(b"all there is", 0).unwrap(), 12);
        assert_eq!(std::fs::metadata(dir.path().join("file")).unwrap().len(), 12);
    }
}
