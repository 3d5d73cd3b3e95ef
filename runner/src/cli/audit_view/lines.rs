//! Reads lines of bounded length. A longer line is skipped, so that it costs no memory, and the next one is read.

use std::io::{self, BufRead, Read};

/// Bytes of one line. The longest that modbox writes, with all lists full of long texts, is shorter.
pub(crate) const MAX_LINE: usize = 8 << 20;

/// A line without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The whole line.
    Whole(Vec<u8>),
    /// The line was longer than [`MAX_LINE`].
    TooLong,
}

/// Reads lines and counts them.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> LineReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0 }
    }

    /// Returns the next line with its number, from 1; `None` at the end.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<(u64, Line)>> {
        let mut bytes = Vec::new();
        let limit = MAX_LINE as u64 + 1;
        if self.input.by_ref().take(limit).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() > MAX_LINE {
            self.input.skip_until(b'\n')?;
            return Ok(Some((self.number, Line::TooLong)));
        }
        Ok(Some((self.number, Line::Whole(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let longest = vec![b'x'; MAX_LINE];
        let text = [&longest, &b"x\n"[..], &longest, b"\n\nlast"].concat();
        let mut reader = LineReader::new(text.as_slice());
        assert_eq!(reader.next_line().unwrap(), Some((1, Line::TooLong)));
        assert_eq!(reader.next_line().unwrap(), Some((2, Line::Whole(longest))));
        assert_eq!(reader.next_line().unwrap(), Some((3, Line::Whole(Vec::new()))));
        assert_eq!(reader.next_line().unwrap(), Some((4, Line::Whole(b"last".to_vec()))));
        assert_eq!(reader.next_line().unwrap(), None);
    }
}
