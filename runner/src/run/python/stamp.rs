//! How a file is recognised as unchanged without reading it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What changed this lately could change again within one tick of the filesystem's clock, and look the same.
const SETTLED: Duration = Duration::from_secs(2);

/// What the filesystem says of a path, links followed; a path to nothing has a stamp, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stamp {
    /// Nothing is there.
    Missing,
    /// Device, inode, size, and the times of the last change to the content and to the rest, each in nanoseconds.
    There(u64, u64, u64, i128, i128),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        let Ok(metadata) = fs::metadata(path) else { return Self::Missing };
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let modified = nanos(metadata.mtime(), metadata.mtime_nsec());
        let changed = nanos(metadata.ctime(), metadata.ctime_nsec());
        Self::There(metadata.dev(), metadata.ino(), metadata.size(), modified, changed)
    }

    fn is_settled(&self, now: i128) -> bool {
        match self {
            Self::Missing => true,
            Self::There(.., changed) => now - changed > i128::try_from(SETTLED.as_nanos()).unwrap_or(i128::MAX),
        }
    }
}

/// The stamps of many paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamps(Vec<(PathBuf, Stamp)>);

impl Stamps {
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let stamped = |path: PathBuf| {
            let stamp = Stamp::of(&path);
            (path, stamp)
        };
        Self(paths.into_iter().map(stamped).collect())
    }

    pub(super) fn push(&mut self, path: PathBuf, stamp: Stamp) {
        self.0.push((path, stamp));
    }

    /// Returns whether they are still those of the paths.
    pub(super) fn hold(&self) -> bool {
        self.0.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }

    /// Returns whether a change from now on would change them.
    pub(super) fn are_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let now = i128::try_from(now).unwrap_or(i128::MAX);
        self.0.iter().all(|(_, stamp)| stamp.is_settled(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noticed_and_so_is_what_appears() {
        let dir = tempfile::tempdir().unwrap();
        let (file, missing) = (dir.path().join("file"), dir.path().join("missing"));
        fs::write(&file, "1").unwrap();
        let stamps = || Stamps::of([file.clone(), missing.clone()]);
        let before = stamps();
        assert!(before.hold() && !before.are_settled(), "it was written just now");
        fs::write(&missing, "").unwrap();
        assert!(!before.hold());
        let before = stamps();
        fs::write(&file, "12").unwrap();
        assert!(!before.hold());
        assert!(Stamps::of([dir.path().join("nowhere")]).are_settled());
    }
}
