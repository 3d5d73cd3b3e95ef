//! The events of a YAML text, by the rules of libyaml 0.2.5.
//!
//! ansible-core reads YAML with libyaml, by way of PyYAML. What one parser takes for a mapping and another for text
//! would let a play do here what it does not do there. So this is libyaml's scanner and parser, rule by rule, with the
//! words of its messages and its places of nodes; `tests/oracle_yaml.rs` compares both. Parsers of YAML 1.2 differ in
//! tabs, flow collections, directives, line breaks and places of nodes; and of the ports of libyaml, one is unsafe code
//! and one panics on a block scalar at the end of a text.
//!
//! The text is a `&str` without characters that YAML forbids. Nothing here knows types of scalars.

mod block_scalar;
mod collections;
mod directive;
mod error;
mod event;
mod fold;
mod mark;
mod parser;
mod plain;
mod property;
mod quoted;
mod reader;
mod scanner;
mod simple_key;
mod tag_name;
mod token;

pub(crate) use error::SyntaxError;
pub(crate) use event::{Event, Properties};
pub(crate) use mark::Mark;
pub(crate) use parser::Parser;
