//! Private copies of granted single names.
//!
//! A module writes a single name by replacing it, which needs a directory. The stage is that directory: the module may
//! do anything in it, and only the state of the granted name counts.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::changes::change::{Change, ChangeKind};
use crate::changes::change_list::{ChangeList, Totals};
use crate::changes::entry_flags;
use crate::error::LayerError;
use crate::quota::{ListBounds, Quota};
use crate::tree_root::TreeRoot;
use crate::trees::copied_attributes;
use crate::trees::tree_copy::TreeCopy;
use crate::views::private_place::PrivatePlace;

/// A directory with the copy of one granted name, or empty if the name does not exist yet.
#[derive(Debug)]
pub(crate) struct NameStage {
    name: OsString,
    copy: TreeCopy,
    real: TreeRoot,
    place: PrivatePlace,
}

impl NameStage {
    /// Copies a name.
    ///
    /// # Errors
    ///
    /// Its directory cannot be opened, it is not a file, or it is larger than the quota.
    pub(crate) fn new(path: &Path, quota: Quota, scratch: &Path) -> Result<Self, LayerError> {
        let unfit =
            |reason: &str, remedy| Err(LayerError::Unfit { path: path.to_owned(), reason: reason.to_owned(), remedy });
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return unfit("it has no name", "grant a file by its path");
        };
        let open = |cause| LayerError::Open { path: parent.to_owned(), cause };
        let from = TreeRoot::open(parent).map_err(open)?;
        if let Some(reason) = entry_flags::obstacle(&from).map_err(open)? {
            let reason = format!("of its directory: {reason}");
            return unfit(&reason, "clear the flag, or run it without a preview or a transaction");
        }
        if let Some(opened) = from.look(Path::new(name)).map_err(open)? {
            let stat = rustix::fs::fstat(opened).map_err(|errno| open(errno.into()))?;
            if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
                return unfit("it is not a regular file", "grant the directory instead");
            }
        }
        let failed = |(step, cause)| LayerError::Mount { path: path.to_owned(), step, cause };
        let (place, view) = PrivatePlace::new(quota, scratch).map_err(failed)?;
        // Another user, whose run root makes, may do in the stage what that user may do in the real directory. An ordinary
        // user cannot give the stage away, and needs no more than its own rights.
        if rustix::process::geteuid().is_root() {
            copied_attributes::copy_all(&from, &view)
                .map_err(|cause| LayerError::Copy { path: path.to_owned(), cause })?;
        }
        let copy = TreeCopy::of_name(&from, name, view, quota, parent)?;
        Ok(Self { name: name.to_owned(), copy, real: from, place })
    }

    /// Returns the directory with the copy.
    pub(crate) fn directory(&self) -> &TreeRoot {
        &self.copy.view
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the real directory that holds the name.
    pub(crate) fn real(&self) -> &TreeRoot {
        &self.real
    }

    /// Returns the place that holds the copy.
    pub(crate) fn place(&self) -> &PrivatePlace {
        &self.place
    }

    /// Prevents further writes, where that can be done.
    ///
    /// # Errors
    ///
    /// A file stays open for writing.
    pub(crate) fn freeze(&self) -> std::io::Result<()> {
        self.place.freeze()
    }

    /// Returns the change of the name, with an empty path.
    ///
    /// # Errors
    ///
    /// The copy cannot be read.
    pub(crate) fn changes(&self, bounds: ListBounds) -> std::io::Result<ChangeList> {
        // Other names in the stage are the module's own; each must not take a place in the list.
        let mut list = self.copy.changes(ListBounds { changes: usize::MAX, ..bounds })?;
        let name = Path::new(&self.name);
        let is_ours = |change: &Change| {
            change.path == name || matches!(&change.kind, ChangeKind::Renamed { from } if from == name)
        };
        list.changes.retain(is_ours);
        for change in &mut list.changes {
            // The file has another name in the stage, and none of its own any more.
            if change.path != name {
                change.kind = ChangeKind::Removed { entries: 0 };
                change.after = None;
            }
            change.path = PathBuf::new();
        }
        list.links.clear();
        list.totals = Totals::default();
        list.changes.iter().for_each(|change| list.totals.count(change));
        list.rename_incomplete(name);
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::changes::change_list::Incomplete;
    use crate::trees::tree_tests::{place, read_file, words};

    const QUOTA: Quota = Quota { bytes: 1 << 20, files: 10 };

    fn stage(directory: &Path) -> Result<NameStage, LayerError> {
        NameStage::new(&directory.join("file"), QUOTA, directory)
    }

    #[test]
    fn only_the_name_counts() {
        type Run = fn(&Path);
        let cases: [(Run, &[&str]); 7] = [
            (|_| {}, &[]),
            (|file| fs::write(file, "new").unwrap(), &["modified "]),
            (|file| fs::remove_file(file).unwrap(), &["removed  0"]),
            (|file| fs::rename(file, file.with_extension("old")).unwrap(), &["removed  0"]),
            (|file| fs::write(file.with_extension("tmp"), "x").unwrap(), &[]),
            (
                |file| {
                    fs::write(file.with_extension("tmp"), "other").unwrap();
                    fs::rename(file.with_extension("tmp"), file).unwrap();
                },
                &["modified "],
            ),
            (
                |file| {
                    fs::remove_file(file).unwrap();
                    fs::create_dir(file).unwrap();
                },
                &["replaced "],
            ),
        ];
        for (number, (run, expected)) in cases.into_iter().enumerate() {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join("file"), "old").unwrap();
            let stage = stage(directory.path()).unwrap();
            run(&place(stage.directory()).join("file"));
            stage.freeze().unwrap();
            assert_eq!(words(&stage.changes(ListBounds::default()).unwrap()), expected, "{number}");
            assert_eq!(read_file(&directory.path().join("file")), b"old");
        }
    }

    #[test]
    fn a_name_that_does_not_exist_can_be_created() {
        let directory = tempfile::tempdir().unwrap();
        let stage = stage(directory.path()).unwrap();
        fs::write(place(stage.directory()).join("file"), "new").unwrap();
        assert_eq!(words(&stage.changes(ListBounds::default()).unwrap()), ["created "]);
    }

    #[test]
    fn what_is_not_a_file_and_what_is_too_large_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("file")).unwrap();
        assert!(stage(directory.path()).unwrap_err().to_string().contains("not a regular file"));
        fs::remove_dir(directory.path().join("file")).unwrap();
        fs::write(directory.path().join("file"), vec![1; 2 << 20]).unwrap();
        assert!(stage(directory.path()).unwrap_err().to_string().contains("raise --max-disk"));
    }

    #[test]
    fn other_names_of_a_written_file_are_told() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "old").unwrap();
        fs::hard_link(directory.path().join("file"), directory.path().join("other")).unwrap();
        let stage = stage(directory.path()).unwrap();
        fs::write(place(stage.directory()).join("file"), "new").unwrap();
        let list = stage.changes(ListBounds::default()).unwrap();
        assert_eq!(list.incomplete, [Incomplete::HardLink { path: PathBuf::new(), others: 1 }]);
    }
}
