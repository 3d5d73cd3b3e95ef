//! When an addition makes room in a store. An eviction looks at all entries, which takes longer than to write a small one, so a process
//! that adds thousands does it once for many of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The most small additions between two evictions of a process.
const MOST: u64 = 32;

/// The additions of this process to each folder since its last eviction there.
static ADDED: LazyLock<Mutex<HashMap<PathBuf, Added>>> = LazyLock::new(Mutex::default);

#[derive(Debug, Clone, Copy, Default)]
struct Added {
    number: u64,
    bytes: u64,
}

/// Notes an addition of some bytes to a folder, and returns whether it is followed by an eviction: the first one is, and then those by
/// which the folder has grown by a part of its limit.
pub(crate) fn makes_room(folder: &Path, bytes: u64, max_bytes: u64) -> bool {
    let mut all = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(added) = all.get_mut(folder) else {
        all.insert(folder.to_owned(), Added::default());
        return true;
    };
    *added = Added { number: added.number + 1, bytes: added.bytes.saturating_add(bytes) };
    let is_due = added.number >= MOST || added.bytes >= max_bytes / MOST;
    if is_due {
        *added = Added::default();
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_additions_make_room_together_and_large_ones_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let small = || makes_room(dir.path(), 1, 3200);
        assert!(small());
        for _ in 0..2 {
            assert_eq!((1..=MOST).filter(|_| small()).count(), 1);
        }
        assert!(makes_room(dir.path(), 100, 3200));
        assert!(!makes_room(dir.path(), 99, 3200));
        assert!(small(), "together they are large");
    }
}
