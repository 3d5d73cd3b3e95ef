//! Commands for changes that were saved, kept or interrupted.

pub(crate) mod apply;
mod asked_view;
mod kept_runs;
pub(crate) mod recover;
mod saved_list;
mod saved_view;
pub(crate) mod transactions;
pub(crate) mod undo;
