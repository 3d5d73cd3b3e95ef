//! One run and many: batch, jobs, signals, audit, secrets, advice.

pub(crate) mod advice;
pub(crate) mod asking;
pub(crate) mod asking_attacks;
pub(crate) mod audit;
pub(crate) mod audit_batch;
pub(crate) mod audit_view;
pub(crate) mod batch;
pub(crate) mod batch_changed;
pub(crate) mod batch_signals;
pub(crate) mod batch_walls;
pub(crate) mod check_mode;
pub(crate) mod jobs;
pub(crate) mod learn;
pub(crate) mod logs;
pub(crate) mod module_names;
pub(crate) mod secrets;
pub(crate) mod signals;
pub(crate) mod suggest;
