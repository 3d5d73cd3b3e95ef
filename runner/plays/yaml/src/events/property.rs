//! What stands before a node: anchors, aliases and tags.

use super::error::{Scanned, SyntaxError};
use super::reader::Reader;
use super::tag_name::{Place, scan_handle, scan_uri};
use super::token::{Token, TokenKind};

/// Reads `&name` or `*name`.
pub(super) fn scan_anchor(reader: &mut Reader<'_>) -> Scanned<Token> {
    let start = reader.mark();
    let is_alias = reader.is('*');
    reader.take();
    let name = reader.take_word();
    if name.is_empty() || !(reader.is_space_or_end() || reader.is_one_of("?:,]}%@`")) {
        let doing = if is_alias { "while scanning an alias" } else { "while scanning an anchor" };
        let problem = "did not find expected alphabetic or numeric character";
        return SyntaxError::within(doing, start, problem, reader.mark());
    }
    let kind = if is_alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) };
    Ok(Token { kind, start, end: reader.mark() })
}

/// Reads `!tag`, `!handle!tag` or `!<uri>`.
pub(super) fn scan_tag(reader: &mut Reader<'_>, is_flow: bool) -> Scanned<Token> {
    const DOING: &str = "while scanning a tag";
    let start = reader.mark();
    let (mut handle, mut suffix);
    if reader.peek_behind(1) == Some('<') {
        reader.skip(2);
        handle = String::new();
        suffix = scan_uri(reader, Place::Node, true, None, start)?;
        if !reader.is('>') {
            return SyntaxError::within(DOING, start, "did not find the expected '>'", reader.mark());
        }
        reader.take();
    } else {
        handle = scan_handle(reader, Place::Node, start)?;
        if handle.len() > 1 && handle.ends_with('!') {
            suffix = scan_uri(reader, Place::Node, false, None, start)?;
        } else {
            suffix = scan_uri(reader, Place::Node, false, Some(&handle), start)?;
            handle = "!".to_owned();
            if suffix.is_empty() {
                std::mem::swap(&mut handle, &mut suffix);
            }
        }
    }
    if !(reader.is_space_or_end() || is_flow && reader.is(',')) {
        return SyntaxError::within(DOING, start, "did not find expected whitespace or line break", reader.mark());
    }
    Ok(Token { kind: TokenKind::Tag { handle, suffix }, start, end: reader.mark() })
}
