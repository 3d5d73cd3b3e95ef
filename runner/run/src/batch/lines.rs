//! Splits an input stream, which may be endless, into lines of bounded length.

use std::io;
use std::os::fd::BorrowedFd;

/// Maximum length of a line: the largest arguments, plus the other keys of a job.
pub(crate) const MAX_LINE: usize = 65 << 20;

const CHUNK: usize = 64 << 10;

/// A line with its number, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    /// `None` for a line that is too long.
    pub(crate) text: Option<Vec<u8>>,
}

/// Line splitter; skips blank lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    /// Bytes at the start of the buffer that were returned already.
    taken: usize,
    /// Bytes after `taken` that were searched and have no line end.
    searched: usize,
    number: u64,
    /// Whether the current line is too long and its rest is skipped.
    skipping: bool,
    ended: bool,
    /// Total bytes read.
    pub(crate) read: u64,
}

impl Lines {
    /// Reads from the stream once. The caller has checked that it is readable.
    ///
    /// # Errors
    ///
    /// The stream cannot be read.
    pub(crate) fn fill(&mut self, stream: BorrowedFd<'_>) -> io::Result<()> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let length = self.buffer.len();
        self.buffer.resize(length + CHUNK, 0);
        let read = rustix::io::retry_on_intr(|| rustix::io::read(stream, &mut self.buffer[length..]));
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.ended = true,
            Ok(count) => self.read += count as u64,
            Err(rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Returns whether the stream has ended; the buffer may still hold lines.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Ends the stream and discards the buffer, including an incomplete last line.
    pub(crate) fn close(&mut self) {
        self.ended = true;
        self.buffer.clear();
        (self.taken, self.searched, self.skipping) = (0, 0, false);
    }

    /// Returns whether [`next`](Self::next) can make progress without reading more.
    pub(crate) fn holds_line(&self) -> bool {
        let rest = &self.buffer[self.taken..];
        let at_the_end = self.ended && (self.skipping || !rest.is_empty());
        at_the_end || memchr::memchr(b'\n', &rest[self.searched..]).is_some()
    }

    /// Returns the next complete line, or the rest of a stream that has ended.
    pub(crate) fn next(&mut self) -> Option<Line> {
        loop {
            let rest = &self.buffer[self.taken..];
            let end = memchr::memchr(b'\n', &rest[self.searched..]).map(|at| at + self.searched);
            let (line, used) = match end {
                Some(end) => (&rest[..end], end + 1),
                None if self.ended && (self.skipping || !rest.is_empty()) => (rest, rest.len()),
                None if rest.len() > MAX_LINE => {
                    self.skipping = true;
                    self.taken = self.buffer.len();
                    self.searched = 0;
                    return None;
                }
                None => {
                    self.searched = rest.len();
                    return None;
                }
            };
            self.number += 1;
            let too_long = std::mem::take(&mut self.skipping) || line.len() > MAX_LINE;
            let text = (!too_long).then(|| line.trim_ascii().to_vec());
            self.taken += used;
            self.searched = 0;
            if text.as_ref().is_none_or(|text| !text.is_empty()) {
                return Some(Line { number: self.number, text });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    fn lines(input: &'static [u8]) -> Vec<Line> {
        let (reader, mut writer) = io::pipe().unwrap();
        let writing = std::thread::spawn(move || writer.write_all(input));
        let (mut lines, mut got) = (Lines::default(), Vec::new());
        while !lines.ended() {
            lines.fill(reader.as_fd()).unwrap();
            while let Some(line) = lines.next() {
                got.push(line);
            }
        }
        writing.join().unwrap().unwrap();
        got
    }

    #[test]
    fn numbers_lines_and_leaves_out_blank_ones() {
        let got = lines(b"one\n\n  \r\n two \r\nlast");
        let text = |text: &[u8]| Some(text.to_vec());
        assert_eq!(
            got,
            [(1, text(b"one")), (4, text(b"two")), (5, text(b"last"))].map(|(number, text)| Line { number, text })
        );
    }

    #[test]
    fn says_whether_there_is_a_line() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::default();
        for (written, held) in [("one\ntwo\nth", 2), ("ree", 0), ("\n", 1)] {
            writer.write_all(written.as_bytes()).unwrap();
            lines.fill(reader.as_fd()).unwrap();
            for _ in 0..held {
                assert!(lines.holds_line());
                assert!(lines.next().is_some());
            }
            assert!(!lines.holds_line());
            assert_eq!(lines.next(), None);
        }
        writer.write_all(b"last").unwrap();
        drop(writer);
        lines.fill(reader.as_fd()).unwrap();
        assert!(!lines.holds_line());
        lines.fill(reader.as_fd()).unwrap();
        assert!(lines.holds_line() && lines.next().is_some() && !lines.holds_line());
    }

    #[test]
    fn a_line_that_is_too_long_is_not_kept() {
        static LONG: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
            let mut input = vec![b'x'; MAX_LINE + 2 * CHUNK];
            input.extend_from_slice(b"\nnext\n");
            input
        });
        let got = lines(&LONG);
        assert_eq!(got, [(1, None), (2, Some(b"next".to_vec()))].map(|(number, text)| Line { number, text }));
    }
}
