//! The command line: golden sessions, manual, lists, releases. What of it needs other compilers or a browser.

pub(crate) mod releases;
