//! The command line: golden sessions, manual, lists, releases.

pub(crate) mod doc;
pub(crate) mod doctor;
pub(crate) mod list;
pub(crate) mod sessions;
