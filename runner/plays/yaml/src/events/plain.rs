//! Scalars without quotes.

use super::error::{Scanned, SyntaxError};
use super::fold::Fold;
use super::reader::Reader;
use super::token::{Token, TokenKind};

const DOING: &str = "while scanning a plain scalar";

/// Reads a plain scalar. Also returns whether it ended with a line break, behind which a key may follow.
///
/// Lines that continue it in a block are indented more than `indent`.
pub(super) fn scan_plain(reader: &mut Reader<'_>, indent: i64, is_flow: bool) -> Scanned<(Token, bool)> {
    let start = reader.mark();
    let (mut fold, mut end) = (Fold::default(), start);
    while !reader.is_document_indicator() && !reader.is('#') {
        while !reader.is_space_or_end() {
            let is_colon = reader.is(':');
            let behind = reader.peek_behind(1).filter(|_| is_colon && is_flow);
            if behind.is_some_and(|behind| ",?[]{}".contains(behind)) {
                return SyntaxError::within(DOING, start, "found unexpected ':'", reader.mark());
            }
            if (is_colon && reader.is_space_or_end_behind(1)) || (is_flow && reader.is_one_of(",[]{}")) {
                break;
            }
            if let Some(character) = reader.take() {
                fold.push(character);
            }
            end = reader.mark();
        }
        if !reader.is_blank() && !reader.is_break() {
            break;
        }
        while reader.is_blank() || reader.is_break() {
            if fold.is_broken() && reader.mark().indent() <= indent && reader.is('\t') {
                let problem = "found a tab character that violates indentation";
                return SyntaxError::within(DOING, start, problem, reader.mark());
            }
            match reader.take_break() {
                Some(line_break) => fold.line_break(line_break),
                None => reader.take().into_iter().for_each(|blank| fold.blank(blank)),
            }
        }
        if !is_flow && reader.mark().indent() <= indent {
            break;
        }
    }
    let is_broken = fold.is_broken();
    Ok((Token { kind: TokenKind::Scalar { text: fold.into_text(), is_plain: true }, start, end }, is_broken))
}
