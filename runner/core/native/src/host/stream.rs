//! An output of a process, read up to a limit and counted beyond it.

use std::io::{self, PipeReader, Read};

use modbox_vocabulary::CapturedOutput;

/// Default capacity of a pipe, so that one read usually empties it.
pub(crate) const CHUNK: usize = 64 << 10;

/// What is read at most at the end: a process that stays may go on writing.
const MAX_REST: u64 = 1 << 20;

/// Output stream, and its captured beginning.
#[derive(Debug)]
pub(crate) struct Stream {
    /// `None` after the end of the stream.
    pub(crate) pipe: Option<PipeReader>,
    pub(crate) captured: CapturedOutput,
    max: u64,
}

impl Stream {
    /// Returns the stream of a pipe that does not wait.
    pub(crate) fn new(pipe: PipeReader, max: u64) -> Self {
        Self { pipe: Some(pipe), captured: CapturedOutput::default(), max }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads what is there, without waiting, up to what a pipe can hold.
    pub(crate) fn read_rest(&mut self, chunk: &mut [u8]) -> io::Result<()> {
        let before = self.captured.total;
        let mut last = None;
        while self.is_open() && last != Some(self.captured.total) && self.captured.total - before < MAX_REST {
            last = Some(self.captured.total);
            self.read(chunk)?;
        }
        Ok(())
    }

    /// Reads once, without waiting.
    pub(crate) fn read(&mut self, chunk: &mut [u8]) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        match pipe.read(chunk) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                let room = self.max.saturating_sub(self.captured.bytes.len() as u64);
                let kept = length.min(usize::try_from(room).unwrap_or(usize::MAX));
                self.captured.bytes.extend_from_slice(&chunk[..kept]);
                self.captured.total += length as u64;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
