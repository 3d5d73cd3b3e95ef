//! The identity of a file of the machine, by which a play finds it under each of its names.

/// A file by its device and its number there.
pub(crate) type FileId = (u64, u64);
