//! The processes of a run: the module's own, their tree, namespaces and control groups, and sockets that they hold.

pub(crate) mod group;
pub(crate) mod left;
pub(crate) mod module_process;
pub(crate) mod namespaces;
pub(crate) mod pid_limit;
pub(crate) mod sockets;
pub(crate) mod stdin;
pub(crate) mod tree;
