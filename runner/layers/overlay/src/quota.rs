//! Bounds of what a layer holds and of what is read of it.

use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};

/// Upper bounds of a layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Bytes of content that the layer holds.
    pub bytes: u64,
    /// Number of entries that the layer holds.
    pub files: u64,
}

/// A bound of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Bytes of content.
    Bytes,
    /// Number of entries.
    Files,
}

impl Bound {
    /// Returns the bound that a file system in memory has reached.
    pub(crate) fn reached(place: impl AsFd) -> Option<Self> {
        let space = rustix::fs::fstatvfs(place).ok()?;
        match (space.f_bavail, space.f_favail) {
            (0, _) => Some(Self::Bytes),
            (_, 0) => Some(Self::Files),
            (..) => None,
        }
    }
}

/// Upper bounds of a list of changes. Totals are counted beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListBounds {
    /// Number of changes in the list.
    pub changes: usize,
    /// Bytes of content that are read for comparisons.
    pub read_bytes: u64,
    /// Number of entries of the real tree that are looked at.
    pub entries: u64,
}

impl Default for ListBounds {
    fn default() -> Self {
        Self { changes: 100_000, read_bytes: 4 << 30, entries: 4_000_000 }
    }
}
