//! Commands that run modules.

pub(crate) mod batch;
pub(crate) mod file;
pub(crate) mod job;
pub(crate) mod play;
pub(crate) mod resource;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod template;
