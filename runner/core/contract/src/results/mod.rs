//! From what a module printed to its result, by the rules of a release.

pub(crate) mod current;
pub(crate) mod document;
pub(crate) mod fields;
pub mod log_lines;
pub(crate) mod missing;
pub(crate) mod older;
pub(crate) mod parsed_output;
pub(crate) mod raw_output;
pub(crate) mod reserved;
pub mod result;
pub mod stdout;
pub(crate) mod typed;
pub(crate) mod unified;
pub(crate) mod warnings;
