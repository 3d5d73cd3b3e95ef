//! The host's side of a run: starts the launcher, attends to it, and adds up what the module did.

pub(crate) mod attend;
pub(crate) mod context;
pub(crate) mod files;
pub(crate) mod guest_copies;
pub(crate) mod guest_outside;
pub(crate) mod launch;
pub(crate) mod outcome;
pub(crate) mod outside_commands;
pub(crate) mod processor_time;
pub(crate) mod program;
pub(crate) mod started;
pub(crate) mod stream;
pub(crate) mod variables;
