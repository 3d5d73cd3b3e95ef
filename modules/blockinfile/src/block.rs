//! Changes the lines: bytes in, bytes out.
//!
//! Lines end as for Python's `bytes.splitlines`: with a newline, a carriage return, or both. A marker line must end
//! with a newline.

use modbox_python_re::Pattern;
use modbox_sdk::Failure;

/// A block to insert or to remove.
pub(crate) struct Block<'a> {
    /// The marker lines, with their newlines.
    pub(crate) begin: Vec<u8>,
    pub(crate) end: Vec<u8>,
    /// The lines between the markers. If empty, the block is removed.
    pub(crate) text: &'a [u8],
    pub(crate) place: Place,
    pub(crate) newline_before: bool,
    pub(crate) newline_behind: bool,
}

/// The place of a new block.
pub(crate) enum Place {
    Beginning,
    End,
    After(Pattern),
    Before(Pattern),
}

impl Block<'_> {
    /// Inserts, replaces or removes the block.
    ///
    /// # Errors
    ///
    /// The search for a pattern took too long.
    pub(crate) fn put(&self, contents: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut lines = split_lines(contents);
        let last = |marker: &[u8]| lines.iter().rposition(|line| *line == marker);
        let at = match (last(&self.begin), last(&self.end)) {
            (Some(begin), Some(end)) => {
                let (first, last) = (begin.min(end), begin.max(end));
                lines.drain(first..=last);
                first
            }
            _ => self.place.find(contents, &lines)?,
        };
        let (head, tail) = lines.split_at(at);
        let mut out = head.concat();
        if !head.is_empty() && !out.ends_with(b"\n") {
            out.push(b'\n');
        }
        let before_is_empty = head.last().is_none_or(|line| *line == b"\n");
        if self.newline_before && !before_is_empty {
            out.push(b'\n');
        }
        if !self.text.is_empty() {
            let unended = if self.text.ends_with(b"\n") { &b""[..] } else { b"\n" };
            out.extend([&self.begin, self.text, unended, &self.end].concat());
        }
        if self.newline_behind && tail.first().is_some_and(|line| *line != b"\n") {
            out.push(b'\n');
        }
        out.extend(tail.concat());
        Ok(out)
    }
}

impl Place {
    /// Returns the index of the line before which the block is inserted.
    fn find(&self, contents: &[u8], lines: &[&[u8]]) -> Result<usize, Failure> {
        let (pattern, behind) = match self {
            Self::Beginning => return Ok(0),
            Self::End => return Ok(lines.len()),
            Self::After(pattern) => (pattern, 1),
            Self::Before(pattern) => (pattern, 0),
        };
        if pattern.flags().multi_line {
            let span = pattern.search(contents)?.and_then(|found| found.span(0));
            let newlines = |end: usize| contents[..end].iter().filter(|byte| **byte == b'\n').count();
            return Ok(span.map_or(lines.len(), |(start, end)| {
                if behind == 1 { (newlines(end) + 1).min(lines.len()) } else { newlines(start) }
            }));
        }
        let mut found = None;
        for (index, line) in lines.iter().enumerate() {
            if pattern.search(line)?.is_some() {
                found = Some(index);
            }
        }
        Ok(found.map_or(lines.len(), |index| index + behind))
    }
}

fn split_lines(contents: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = contents;
    while !rest.is_empty() {
        let length = match rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(at) if rest[at..].starts_with(b"\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, others) = rest.split_at(length);
        lines.push(line);
        rest = others;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(contents: &str, text: &str, place: Place, expect: &str) {
        let (begin, end) = (b"B\n".to_vec(), b"E\n".to_vec());
        let block = Block { begin, end, text: text.as_bytes(), place, newline_before: true, newline_behind: false };
        let after = String::from_utf8(block.put(contents.as_bytes()).unwrap()).unwrap();
        assert_eq!(after, expect, "for {contents:?}");
    }

    #[test]
    fn puts_the_block_where_it_belongs() {
        check("a", "x", Place::End, "a\n\nB\nx\nE\n");
        check("a\r\nb", "x\n", Place::Beginning, "B\nx\nE\na\r\nb");
        check("a\nB\nold\nE\nb\n", "x", Place::End, "a\n\nB\nx\nE\nb\n");
        check("E\nold\nB\nb\n", "", Place::End, "b\n");
    }
}
