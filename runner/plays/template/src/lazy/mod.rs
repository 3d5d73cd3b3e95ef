//! Containers whose items are rendered when a template reads them.
//!
//! `{{ d.a }}` works although `{{ d.b }}` cannot be rendered, and data of a hundred megabytes costs nothing until it is
//! read. Methods such as `append` change a container for the rest of the evaluation only.

mod dict;
mod list;
mod nodes;
mod wrap;

pub(crate) use dict::{Entries, LazyDict};
pub(crate) use list::{Items, LazyList};
