//! The process of the command line: its environment, user, signals, stack, and the first words that make it another one.

pub(crate) mod become_user;
pub(crate) mod deep_stack;
pub(crate) mod environment;
pub(crate) mod ignored_signals;
pub(crate) mod logging;
pub(crate) mod pager;
pub(crate) mod roles;
pub(crate) mod signals;
