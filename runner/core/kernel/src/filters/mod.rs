//! Filters of system calls: the lists of each kind of process, and what a filter reports.

pub(crate) mod calls;
pub(crate) mod compiler_calls;
pub(crate) mod guest_calls;
pub(crate) mod listener;
pub(crate) mod namespace_calls;
pub(crate) mod native_calls;
pub(crate) mod on_host_calls;
pub(crate) mod profiles;
pub(crate) mod reported;
pub(crate) mod seccomp;
pub(crate) mod socket_families;
pub(crate) mod transfer_calls;
