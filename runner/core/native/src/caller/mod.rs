//! The process whose call the kernel reports: the arguments of the call, in registers and in memory.

pub(crate) mod call_arguments;
pub(crate) mod memory;
