//! Scalars behind `|` and `>`.

use super::error::{Scanned, SyntaxError};
use super::mark::Mark;
use super::reader::Reader;
use super::token::{Token, TokenKind};

const DOING: &str = "while scanning a block scalar";

/// What happens with line breaks at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

/// The indentation of the lines, and where the scalar is.
struct Lines<'r, 'a> {
    reader: &'r mut Reader<'a>,
    start: Mark,
    /// The indentation of the collection around the scalar.
    outer: i64,
    /// The indentation of the scalar; `None` until its first line is seen.
    indent: Option<i64>,
}

/// Reads a literal (`|`) or a folded (`>`) scalar in a collection with an indentation.
pub(super) fn scan_block_scalar(reader: &mut Reader<'_>, outer: i64, is_literal: bool) -> Scanned<Token> {
    let start = reader.mark();
    let (chomping, increment) = scan_header(reader, start)?;
    let indent = increment.map(|increment| outer.max(0) + increment);
    let mut lines = Lines { reader, start, outer, indent };
    let (text, last_break, more_breaks) = lines.scan(is_literal)?;
    let mut text = text;
    if chomping != Chomping::Strip {
        text.extend(last_break);
    }
    if chomping == Chomping::Keep {
        text.push_str(&more_breaks);
    }
    let end = lines.reader.mark();
    Ok(Token { kind: TokenKind::Scalar { text, is_plain: false }, start, end })
}

/// Reads the rest of the first line: how line breaks at the end count, and by how much the lines are indented.
fn scan_header(reader: &mut Reader<'_>, start: Mark) -> Scanned<(Chomping, Option<i64>)> {
    reader.take();
    let mut chomping = scan_chomping(reader);
    let increment = reader.peek().and_then(|digit| digit.to_digit(10)).map(i64::from);
    if increment == Some(0) {
        return SyntaxError::within(DOING, start, "found an indentation indicator equal to 0", reader.mark());
    }
    if increment.is_some() {
        reader.take();
        chomping = chomping.or_else(|| scan_chomping(reader));
    }
    reader.skip_blanks();
    reader.skip_comment();
    if !reader.is_break_or_end() {
        return SyntaxError::within(DOING, start, "did not find expected comment or line break", reader.mark());
    }
    reader.take_break();
    Ok((chomping.unwrap_or(Chomping::Clip), increment))
}

fn scan_chomping(reader: &mut Reader<'_>) -> Option<Chomping> {
    let chomping = match reader.peek()? {
        '+' => Chomping::Keep,
        '-' => Chomping::Strip,
        _ => return None,
    };
    reader.take();
    Some(chomping)
}

impl Lines<'_, '_> {
    /// Reads all lines; returns the text, the break of its last line, and those of empty lines behind it.
    fn scan(&mut self, is_literal: bool) -> Scanned<(String, Option<char>, String)> {
        let (mut text, mut last_break, mut was_blank) = (String::new(), None, false);
        let mut breaks = self.scan_breaks()?;
        while Some(self.reader.mark().indent()) == self.indent && !self.reader.is_at_end() {
            let is_blank = self.reader.is_blank();
            if !is_literal && last_break == Some('\n') && !was_blank && !is_blank {
                if breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.extend(last_break);
            }
            text.push_str(&breaks);
            was_blank = is_blank;
            while !self.reader.is_break_or_end() {
                text.extend(self.reader.take());
            }
            last_break = self.reader.take_break();
            breaks = self.scan_breaks()?;
        }
        Ok((text, last_break, breaks))
    }

    /// Reads empty lines and the indentation of the next one. The first time, that sets the indentation of all.
    fn scan_breaks(&mut self) -> Scanned<String> {
        let (mut breaks, mut widest) = (String::new(), 0);
        loop {
            let is_indentation =
                |reader: &Reader<'_>, indent: Option<i64>| indent.is_none_or(|indent| reader.mark().indent() < indent);
            while is_indentation(self.reader, self.indent) && self.reader.is(' ') {
                self.reader.take();
            }
            widest = widest.max(self.reader.mark().indent());
            if is_indentation(self.reader, self.indent) && self.reader.is('\t') {
                let problem = "found a tab character where an indentation space is expected";
                return SyntaxError::within(DOING, self.start, problem, self.reader.mark());
            }
            match self.reader.take_break() {
                Some(line_break) => breaks.push(line_break),
                None => break,
            }
        }
        let deepest = widest.max(self.outer + 1).max(1);
        self.indent.get_or_insert(deepest);
        Ok(breaks)
    }
}
