//! Changes the lines: bytes in, bytes out.
//!
//! Lines end as for Python's `bytes.splitlines`: with a newline, a carriage return, or both. Those of text, as for
//! `str.splitlines`, end with more characters. A marker line must end with a newline.

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
    /// Whether the contents are text.
    pub(crate) is_of_text: bool,
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
        let mut lines = split_lines(contents, self.is_of_text);
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

fn split_lines(contents: &[u8], is_text: bool) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = contents;
    while !rest.is_empty() {
        let end = (0..rest.len()).find_map(|at| Some(at + end_of_line(&rest[at..], is_text)?));
        let length = end.unwrap_or(rest.len());
        let (line, others) = rest.split_at(length);
        lines.push(line);
        rest = others;
    }
    lines
}

/// Ends of lines in text, besides those of bytes.
const ENDS_OF_TEXT: [&str; 8] = ["\u{b}", "\u{c}", "\u{1c}", "\u{1d}", "\u{1e}", "\u{85}", "\u{2028}", "\u{2029}"];

/// Returns the length of the end of a line with which this begins.
fn end_of_line(rest: &[u8], is_text: bool) -> Option<usize> {
    match rest {
        [b'\r', b'\n', ..] => Some(2),
        [b'\r' | b'\n', ..] => Some(1),
        _ if is_text => ENDS_OF_TEXT.iter().find(|end| rest.starts_with(end.as_bytes())).map(|end| end.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(contents: &str, text: &str, place: Place, expect: &str) {
        let (begin, end) = (b"B\n".to_vec(), b"E\n".to_vec());
        let block = Block {
            begin,
            end,
            text: text.as_bytes(),
            place,
            is_of_text: false,
            newline_before: true,
            newline_behind: false,
        };
        let after = String::from_utf8(block.put(contents.as_bytes()).unwrap()).unwrap();
        assert_eq!(after, expect, "for {contents:?}");
    }

    #[test]
    fn lines_of_text_end_with_more_characters() {
        let contents = "a\r\nb\u{c}c\u{85}d\re\u{2028}".as_bytes();
        let lines = |is_text| split_lines(contents, is_text).len();
        assert_eq!((lines(false), lines(true)), (3, 5));
    }

    #[test]
    fn puts_the_block_where_it_belongs() {
        check("a", "x", Place::End, "a\n\nB\nx\nE\n");
        check("a\r\nb", "x\n", Place::Beginning, "B\nx\nE\na\r\nb");
        check("a\nB\nold\nE\nb\n", "x", Place::End, "a\n\nB\nx\nE\nb\n");
        check("E\nold\nB\nb\n", "", Place::End, "b\n");
    }
}
