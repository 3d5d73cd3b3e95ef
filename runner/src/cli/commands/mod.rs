//! The subcommands, one file each. Each takes parsed arguments and returns an exit status.

pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod authors;
pub(crate) mod cache;
pub(crate) mod changes;
pub(crate) mod doctor;
pub(crate) mod interpreters;
pub(crate) mod learn;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod policy;
pub(crate) mod runs;
pub(crate) mod supply;
