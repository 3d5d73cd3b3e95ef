//! YAML 1.1 as PyYAML's `SafeLoader` reads it, with positions.
//!
//! A [`Source`] is text that the author of a play or the operator wrote. It is the only type that can be parsed as a
//! template, and only this crate makes one. What modules print, facts, contents of files and environment variables are
//! values of another type, with no way to become a `Source`.
//!
//! The crate does no I/O and evaluates nothing.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod position;
mod source;

pub use position::Position;
pub use source::{Entry, Key, Map, Node, Source};
