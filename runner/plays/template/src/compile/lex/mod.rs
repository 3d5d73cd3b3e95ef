//! From text to tokens.

mod blanks;
mod lexer;
mod literal;
mod numbers;
mod openings;
mod tokens;

pub(super) use blanks::is_blank;
pub(super) use lexer::Lexer;
pub(super) use literal::{Escapes, has_common_escapes, unescaped, value_of};
pub(super) use numbers::{float, integer};
pub(super) use tokens::{Token, TokenKind};
