//! Commands for changes that were saved, kept or interrupted.

pub(crate) mod apply;
pub(crate) mod recover;
pub(crate) mod transactions;
pub(crate) mod undo;
