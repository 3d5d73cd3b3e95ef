//! The state of a run, shared by all states of `file`: arguments, existing file, attributes, times and results.

use std::path::{Path, PathBuf};

use modbox_sdk::files::{AttributesDiff, FileAttributes};
use modbox_sdk::{Exit, Failure, Module};

use crate::args::FileArgs;
use crate::found::FileType;
use crate::text::text;
use crate::times::Times;

/// One run of the module.
pub(crate) struct Task<'a> {
    pub(crate) args: &'a FileArgs,
    pub(crate) module: &'a mut Module,
    pub(crate) path: PathBuf,
    /// The type of the existing file. Links are not followed.
    pub(crate) found: FileType,
    pub(crate) times: Times,
}

impl Task<'_> {
    /// Returns the wanted attributes, of a link's target if links are followed.
    pub(crate) fn wanted(&self) -> Result<FileAttributes, Failure> {
        let follow = self.args.follow && FileType::at(&self.path)? == FileType::Link;
        let path = if follow { modbox_sdk::fs::real_path(&self.path)? } else { self.path.clone() };
        let wanted = self.module.load_file_common_arguments(Some(&path))?.unwrap_or_default();
        Ok(FileAttributes { path, ..wanted })
    }

    /// Sets attributes and times, and returns whether something changed.
    pub(crate) fn dress(
        &self,
        wanted: &FileAttributes,
        changed: bool,
        diff: Option<&mut AttributesDiff>,
    ) -> Result<bool, Failure> {
        let mut unseen = AttributesDiff::default();
        let diff = diff.unwrap_or(&mut unseen);
        let changed = self.module.set_fs_attributes_if_different(wanted, changed, Some(diff))?;
        Ok(self.times.set(self.module, &wanted.path, diff)? || changed)
    }

    /// Returns the start of a difference.
    pub(crate) fn diff(&self, path: &Path, found: FileType, state: &str) -> AttributesDiff {
        let mut diff = AttributesDiff::default();
        diff.note("path", text(path), text(path));
        if found.name() != state {
            diff.note("state", found.name(), state);
        }
        diff
    }

    /// Returns a result that has the path under the state's key.
    pub(crate) fn exit(&self, key: &str, path: &Path, changed: bool, diff: AttributesDiff) -> Exit {
        let exit = Exit::new(changed).with(key, text(path));
        if self.module.diff_wanted() { exit.with("diff", diff.into_value()) } else { exit }
    }
}
