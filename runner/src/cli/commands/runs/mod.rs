//! Commands that run modules.

pub(crate) mod batch;
pub(crate) mod file;
pub(crate) mod job;
mod load_errors;
pub(crate) mod play;
mod play_asking;
mod play_learning;
pub(crate) mod resource;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod template;
