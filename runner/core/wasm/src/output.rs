//! Output streams that keep the first bytes of a guest's output and count the rest.
//!
//! wasmtime-wasi's `MemoryOutputPipe` closes at its capacity: the guest gets a broken pipe, which ends it in most
//! languages. A module with much output should still end with its own result. So these streams accept everything, keep
//! the first bytes and count all. They also implement `p2_stream` themselves, because the default adapter buffers
//! without bound on empty writes (GHSA-5m8g-xhq4-4h93).

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use modbox_vocabulary::CapturedOutput;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Most bytes of one write. The host allocates as many for `write-zeroes`, so the number is small.
const PERMIT: usize = 64 << 10;

/// Called with bytes that a guest has printed.
pub(super) type OnOutput = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// An output stream of a guest. Clones share the captured output.
#[derive(Clone)]
pub(super) struct HeadStream {
    captured: Arc<Mutex<CapturedOutput>>,
    capacity: usize,
    on_output: Option<OnOutput>,
}

impl std::fmt::Debug for HeadStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeadStream").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl HeadStream {
    /// Creates a stream that keeps `capacity` bytes, and gives those bytes to `on_output` as they are written.
    pub(super) fn new(capacity: u64, on_output: Option<OnOutput>) -> Self {
        Self { captured: Arc::default(), capacity: usize::try_from(capacity).unwrap_or(usize::MAX), on_output }
    }

    /// Returns the captured output, and leaves the stream empty.
    pub(super) fn take(&self) -> CapturedOutput {
        std::mem::take(&mut *self.captured.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, bytes: &[u8]) {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.capacity.saturating_sub(captured.bytes.len());
        let kept = &bytes[..bytes.len().min(room)];
        captured.bytes.extend_from_slice(kept);
        captured.total += bytes.len() as u64;
        if let Some(on_output) = self.on_output.as_ref().filter(|_| !kept.is_empty()) {
            on_output(kept);
        }
    }
}

impl IsTerminal for HeadStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for HeadStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for HeadStream {
    async fn ready(&mut self) {}
}

impl OutputStream for HeadStream {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

impl AsyncWrite for HeadStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_head_and_counts_the_rest() {
        let stream = HeadStream::new(5, None);
        stream.push(b"abc");
        stream.push(b"defg");
        stream.push(b"h");
        let captured = stream.take();
        assert_eq!((captured.bytes.as_slice(), captured.total), (b"abcde".as_slice(), 8));
        assert!(captured.is_truncated());
    }
}
