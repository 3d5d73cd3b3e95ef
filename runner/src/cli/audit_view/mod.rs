//! Reads audit logs back, for `modbox audit`: as a table, as a page for a browser, or line by line.
//!
//! A log can have gigabytes and come from another machine, so lines are read one at a time, are bounded, and are not
//! trusted. This does not judge runs: all words are those of the log.

pub(crate) mod details;
pub(crate) mod entry;
pub(crate) mod filter;
pub(crate) mod lines;
pub(crate) mod page;
pub(crate) mod source;
pub(crate) mod summary;
pub(crate) mod table;
