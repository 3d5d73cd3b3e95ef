//! Workers that are lost or taken over, the compiler, and the cache of compiled code.

pub(crate) mod cache;
pub(crate) mod compile;
pub(crate) mod hostile_workers;
pub(crate) mod workers_lost;
