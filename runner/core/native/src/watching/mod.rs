//! The launcher: starts the module in its room, watches its processes, and kills what is left of them.

mod keeper;
pub mod launcher;
pub(crate) mod observed;
pub(crate) mod passed_limits;
pub(crate) mod survivors;
pub(crate) mod watch;
