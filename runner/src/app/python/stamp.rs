//! Stamps of paths, by which a file is recognised as unchanged without reading it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use modbox_vocabulary::FileFingerprint;
use serde::{Deserialize, Serialize};

/// State of the file that a path leads to, links followed. A path to nothing has a stamp, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stamp {
    /// The path does not exist.
    Missing,
    /// The fingerprint of the existing file.
    There(FileFingerprint),
}

impl Stamp {
    /// Returns the stamp of a path.
    pub(super) fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::Missing, |file| Self::There(FileFingerprint::from(&file)))
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        match self {
            Self::Missing => true,
            Self::There(file) => file.is_settled(now),
        }
    }
}

/// Stamps of many paths.
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

    /// Returns whether all paths still have these stamps.
    pub(super) fn are_current(&self) -> bool {
        self.0.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }

    /// Returns whether any change from now on would change the stamps.
    pub(super) fn are_settled(&self) -> bool {
        let now = SystemTime::now();
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
        assert!(before.are_current() && !before.are_settled(), "it was written just now");
        fs::write(&missing, "").unwrap();
        assert!(!before.are_current());
        let before = stamps();
        fs::write(&file, "12").unwrap();
        assert!(!before.are_current());
        assert!(Stamps::of([dir.path().join("nowhere")]).are_settled());
    }
}
