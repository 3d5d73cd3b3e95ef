//! Bounds of payloads: what is read of a module, its imports and the files that they embed.

/// Maximum size of one source in bytes. The longest module of the `ansible` package has 2.8 MB. The parser's memory
/// grows with the size.
pub const MAX_SOURCE: u64 = 4 << 20;

/// Maximum number of files in a closure. The largest closure of an ansible-core module has a hundred.
pub const MAX_FILES: usize = 2000;
