//! Writes reports to the output, as they arrive or in the order of the input lines.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// Writer of reports.
#[derive(Debug)]
pub(crate) struct Output<W> {
    stream: W,
    /// Reports that wait for an earlier one; `None` when reports are written as they arrive.
    waiting: Option<BTreeMap<u64, Vec<u8>>>,
    next: u64,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(stream: W, ordered: bool) -> Self {
        Self { stream, waiting: ordered.then(BTreeMap::new), next: 0 }
    }

    /// Writes or holds back the report of job `number`. Jobs are counted from 0 without gaps.
    ///
    /// # Errors
    ///
    /// The stream cannot be written.
    pub(crate) fn put(&mut self, number: u64, line: &[u8]) -> io::Result<()> {
        let Some(waiting) = &mut self.waiting else { return self.stream.write_all(line) };
        if number != self.next {
            waiting.insert(number, line.to_vec());
            return Ok(());
        }
        self.stream.write_all(line)?;
        self.next += 1;
        while let Some(line) = waiting.remove(&self.next) {
            self.stream.write_all(&line)?;
            self.next += 1;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    /// Returns the number of reports that wait for an earlier one.
    pub(crate) fn held(&self) -> usize {
        self.waiting.as_ref().map_or(0, BTreeMap::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_only_when_asked_to() {
        for (ordered, expect) in [(true, "abcd"), (false, "bdac")] {
            let mut output = Output::new(Vec::new(), ordered);
            for (number, line) in [(1, "b"), (3, "d"), (0, "a"), (2, "c")] {
                output.put(number, line.as_bytes()).unwrap();
            }
            assert_eq!((output.stream.as_slice(), output.held()), (expect.as_bytes(), 0));
        }
    }
}
