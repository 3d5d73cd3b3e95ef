//! Directives: `%YAML 1.1` and `%TAG !x! prefix`.

use super::error::{Scanned, SyntaxError};
use super::mark::Mark;
use super::reader::Reader;
use super::tag_name::{Place, scan_handle, scan_uri};
use super::token::{Token, TokenKind};

/// The most digits of a version number.
const MAX_DIGITS: u32 = 9;

/// Reads a directive and the rest of its line.
pub(super) fn scan_directive(reader: &mut Reader<'_>) -> Scanned<Token> {
    const DOING: &str = "while scanning a directive";
    let start = reader.mark();
    reader.take();
    let name = reader.take_word();
    if name.is_empty() {
        return SyntaxError::within(DOING, start, "could not find expected directive name", reader.mark());
    }
    if !reader.is_space_or_end() {
        return SyntaxError::within(DOING, start, "found unexpected non-alphabetical character", reader.mark());
    }
    let kind = match &*name {
        "YAML" => scan_version(reader, start)?,
        "TAG" => scan_tag_directive(reader, start)?,
        _ => return SyntaxError::within(DOING, start, "found unknown directive name", reader.mark()),
    };
    let end = reader.mark();
    reader.skip_blanks();
    reader.skip_comment();
    if !reader.is_break_or_end() {
        return SyntaxError::within(DOING, start, "did not find expected comment or line break", reader.mark());
    }
    reader.take_break();
    Ok(Token { kind, start, end })
}

fn scan_version(reader: &mut Reader<'_>, start: Mark) -> Scanned<TokenKind> {
    const DOING: &str = "while scanning a %YAML directive";
    reader.skip_blanks();
    let major = scan_number(reader, start)?;
    if !reader.is('.') {
        let problem = "did not find expected digit or '.' character";
        return SyntaxError::within(DOING, start, problem, reader.mark());
    }
    reader.take();
    Ok(TokenKind::VersionDirective { major, minor: scan_number(reader, start)? })
}

fn scan_number(reader: &mut Reader<'_>, start: Mark) -> Scanned<u32> {
    const DOING: &str = "while scanning a %YAML directive";
    let (mut number, mut digits) = (0, 0);
    while let Some(digit) = reader.peek().and_then(|digit| digit.to_digit(10)) {
        digits += 1;
        if digits > MAX_DIGITS {
            return SyntaxError::within(DOING, start, "found extremely long version number", reader.mark());
        }
        number = number * 10 + digit;
        reader.take();
    }
    if digits == 0 {
        return SyntaxError::within(DOING, start, "did not find expected version number", reader.mark());
    }
    Ok(number)
}

fn scan_tag_directive(reader: &mut Reader<'_>, start: Mark) -> Scanned<TokenKind> {
    const DOING: &str = "while scanning a %TAG directive";
    reader.skip_blanks();
    let handle = scan_handle(reader, Place::Directive, start)?;
    if !reader.is_blank() {
        return SyntaxError::within(DOING, start, "did not find expected whitespace", reader.mark());
    }
    reader.skip_blanks();
    let prefix = scan_uri(reader, Place::Directive, true, None, start)?;
    if !reader.is_space_or_end() {
        return SyntaxError::within(DOING, start, "did not find expected whitespace or line break", reader.mark());
    }
    Ok(TokenKind::TagDirective { handle, prefix })
}
