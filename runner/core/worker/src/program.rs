//! The modbox program as a worker.

/// First argument that makes the modbox program a worker. It is not for users: without a socket as its standard input
/// a worker ends at once.
pub const WORD: &str = "__worker";

/// Path of the running program; it stays valid when the file has been replaced.
pub const THIS_PROGRAM: &str = "/proc/self/exe";
