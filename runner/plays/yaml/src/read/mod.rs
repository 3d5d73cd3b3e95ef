//! From text to a tree: events of the parser become a graph of nodes, and the graph a [`crate::Source`].
//!
//! The two steps are PyYAML's: a graph has unresolved aliases and merge keys, and mistakes in syntax anywhere come
//! before mistakes in values.

mod compose;
mod construct;
mod graph;
mod json;
mod merge;

pub(crate) use compose::{compose, compose_all};
pub(crate) use construct::{Constructed, construct};
pub(crate) use json::read_json;
