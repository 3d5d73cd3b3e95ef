//! Bounds of inventories.

/// Maximum hosts of an inventory. A range of hosts is a few bytes for any number of them.
pub const MAX_HOSTS: usize = 100_000;

/// How deep groups may nest.
pub const MAX_DEPTH: u32 = 64;
