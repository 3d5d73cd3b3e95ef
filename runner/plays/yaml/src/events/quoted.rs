//! Scalars in quotes.

use super::error::{Scanned, SyntaxError};
use super::fold::Fold;
use super::mark::Mark;
use super::reader::Reader;
use super::token::{Token, TokenKind};

const DOING: &str = "while scanning a quoted scalar";

/// Reads a scalar in the quotes that are next.
pub(super) fn scan_quoted(reader: &mut Reader<'_>, quote: char) -> Scanned<Token> {
    let start = reader.mark();
    let mut fold = Fold::default();
    reader.take();
    loop {
        if reader.is_document_indicator() {
            return SyntaxError::within(DOING, start, "found unexpected document indicator", reader.mark());
        }
        if reader.is_at_end() {
            return SyntaxError::within(DOING, start, "found unexpected end of stream", reader.mark());
        }
        scan_line(reader, quote, start, &mut fold)?;
        if reader.is(quote) {
            break;
        }
        while reader.is_blank() || reader.is_break() {
            match reader.take_break() {
                Some(line_break) => fold.line_break(line_break),
                None => reader.take().into_iter().for_each(|blank| fold.blank(blank)),
            }
        }
        fold.flush();
    }
    reader.take();
    let kind = TokenKind::Scalar { text: fold.into_text(), is_plain: false };
    Ok(Token { kind, start, end: reader.mark() })
}

/// Reads up to white space, a closing quote, or behind a line break with a backslash.
fn scan_line(reader: &mut Reader<'_>, quote: char, start: Mark, fold: &mut Fold) -> Scanned<()> {
    while !reader.is_space_or_end() {
        if quote == '\'' && reader.is('\'') && reader.peek_behind(1) == Some('\'') {
            reader.skip(2);
            fold.push('\'');
        } else if reader.is(quote) {
            return Ok(());
        } else if quote == '"' && reader.is('\\') {
            if matches!(reader.peek_behind(1), Some('\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')) {
                reader.take();
                reader.take_break();
                fold.escaped_break();
                return Ok(());
            }
            fold.push(scan_escape(reader, start)?);
        } else if let Some(character) = reader.take() {
            fold.push(character);
        }
    }
    Ok(())
}

/// Reads an escape sequence.
fn scan_escape(reader: &mut Reader<'_>, start: Mark) -> Scanned<char> {
    const DOING: &str = "while parsing a quoted scalar";
    let width = match reader.peek_behind(1) {
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        other => {
            let Some(character) = other.and_then(escaped) else {
                return SyntaxError::within(DOING, start, "found unknown escape character", reader.mark());
            };
            reader.skip(2);
            return Ok(character);
        }
    };
    reader.skip(2);
    let mut code = 0;
    for digit in 0..width {
        let Some(value) = reader.peek_behind(digit).and_then(|digit| digit.to_digit(16)) else {
            return SyntaxError::within(DOING, start, "did not find expected hexdecimal number", reader.mark());
        };
        code = (code << 4) | value;
    }
    let Some(character) = char::from_u32(code) else {
        return SyntaxError::within(DOING, start, "found invalid Unicode character escape code", reader.mark());
    };
    reader.skip(width);
    Ok(character)
}

/// Returns the character of an escape sequence of one letter.
fn escaped(letter: char) -> Option<char> {
    Some(match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '/' | '\\' => letter,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}
