//! The subcommands, one file each. Each takes parsed arguments and returns an exit status.

pub(crate) mod apply;
pub(crate) mod assemble;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod build;
pub(crate) mod cache;
pub(crate) mod doc;
pub(crate) mod doctor;
pub(crate) mod file;
pub(crate) mod inspect;
pub(crate) mod job;
pub(crate) mod learn;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod new;
pub(crate) mod play;
pub(crate) mod policy;
pub(crate) mod recover;
pub(crate) mod resource;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod template;
pub(crate) mod test;
pub(crate) mod transactions;
pub(crate) mod undo;
pub(crate) mod validate;
