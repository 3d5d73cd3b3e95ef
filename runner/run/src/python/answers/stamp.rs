//! Stamps of paths, by which a file is recognised as unchanged without reading it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use modbox_vocabulary::FileFingerprint;
use serde::{Deserialize, Serialize};

/// State of the file that a path leads to, links followed. A path to nothing has a stamp, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::python) enum Stamp {
    /// The path does not exist.
    Missing,
    /// The fingerprint of the existing file.
    There(FileFingerprint),
}

impl Stamp {
    /// Returns the stamp of a path.
    pub(in crate::python) fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::Missing, |file| Self::There(FileFingerprint::from(&file)))
    }

    /// Returns whether any change from now on would change the stamp.
    pub(in crate::python) fn is_settled(&self, now: SystemTime) -> bool {
        match self {
            Self::Missing => true,
            Self::There(file) => file.is_settled(now),
        }
    }
}

/// Returns the outermost folder around a missing path that is missing itself, or else the path.
pub(in crate::python) fn outermost_missing(path: PathBuf) -> PathBuf {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && Stamp::of(folder) == Stamp::Missing;
    let around = path.ancestors().skip(1).take_while(is_missing);
    around.last().map(Path::to_owned).unwrap_or(path)
}

/// Stamps of many paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::python) struct Stamps(Vec<(PathBuf, Stamp)>);

impl Stamps {
    pub(in crate::python) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let stamped = |path: PathBuf| {
            let stamp = Stamp::of(&path);
            (path, stamp)
        };
        Self(paths.into_iter().map(stamped).collect())
    }

    pub(in crate::python) fn push(&mut self, path: PathBuf, stamp: Stamp) {
        self.0.push((path, stamp));
    }

    /// Returns whether all paths still have these stamps.
    pub(in crate::python) fn are_current(&self) -> bool {
        self.0.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }

    /// Returns whether any change from now on would change the stamps.
    pub(in crate::python) fn are_settled(&self) -> bool {
        let now = SystemTime::now();
        self.0.iter().all(|(_, stamp)| stamp.is_settled(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_stands_for_what_is_missing_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for (path, expect) in [("a", "a"), ("a/b/c", "a"), ("file/b", "file/b"), ("file/b/c", "file/b")] {
            assert_eq!(outermost_missing(dir.path().join(path)), dir.path().join(expect), "{path}");
        }
        assert_eq!(outermost_missing(PathBuf::from("relative/none")), Path::new("relative"));
    }

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
