//! The launcher: starts the module in its room, watches its processes, and kills what is left of them.

pub(crate) mod group;
pub mod launcher;
pub(crate) mod module_process;
pub(crate) mod namespaces;
pub(crate) mod observed;
pub(crate) mod passed_limits;
pub(crate) mod sockets;
pub(crate) mod tree;
pub(crate) mod watch;
