//! What providers and callers print and read: the two conventions, and the formats of `ralsh`.

pub mod json;
pub(crate) mod lines;
pub mod ralsh_json;
pub mod ralsh_text;
pub(crate) mod raw_call;
pub mod simple;
