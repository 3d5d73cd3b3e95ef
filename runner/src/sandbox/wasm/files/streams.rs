//! Streams over files. They read and write on the guest's own thread, when they are asked to, and are always ready.
//!
//! wasmtime-wasi's own hand every call that may not block to a thread pool, and know no quota.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use rustix::io::Errno;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::sandbox::wasm::files::open_file::OpenFile;

/// Bytes that one read or write may carry. The host allocates as many.
pub(super) const CHUNK: usize = 64 << 10;

/// Reads a file from a position on.
pub(super) struct FileReader {
    file: Arc<OpenFile>,
    position: u64,
}

/// Reads bytes in memory.
pub(super) struct MemoryReader {
    bytes: Arc<[u8]>,
    position: usize,
}

/// Writes a file from a position on, or at its end.
pub(super) struct FileWriter {
    file: Arc<OpenFile>,
    position: Option<u64>,
    /// After an error, as WASI asks for.
    closed: bool,
}

impl FileReader {
    pub(super) fn new(file: Arc<OpenFile>, position: u64) -> Self {
        Self { file, position }
    }
}

impl MemoryReader {
    pub(super) fn new(bytes: Arc<[u8]>, position: u64) -> Self {
        Self { position: usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len()), bytes }
    }
}

impl FileWriter {
    pub(super) fn at(file: Arc<OpenFile>, position: u64) -> Self {
        Self { file, position: Some(position), closed: false }
    }

    pub(super) fn append(file: Arc<OpenFile>) -> Self {
        Self { file, position: None, closed: false }
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = match &mut self.position {
                Some(position) => {
                    let written = self.file.write(bytes, *position)?;
                    *position += written as u64;
                    written
                }
                None => self.file.append(bytes)?,
            };
            if written == 0 {
                return Err(Errno::NOSPC.into());
            }
            bytes = &bytes[written..];
        }
        Ok(())
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
