//! What every state works with: the arguments, what is there, and how attributes, times and results are made.

use std::path::{Path, PathBuf};

use modbox_sdk::files::{AttributesDiff, FileAttributes};
use modbox_sdk::{Exit, Failure, Module};

use crate::args::FileArgs;
use crate::found::Found;
use crate::text::text;
use crate::times::Times;

/// One run of the module.
pub(crate) struct Task<'a> {
    pub(crate) args: &'a FileArgs,
    pub(crate) module: &'a mut Module,
    pub(crate) path: PathBuf,
    /// What is there, links not followed.
    pub(crate) found: Found,
    pub(crate) times: Times,
}

impl Task<'_> {
    /// The attributes that are asked for, of what a link leads to when links are followed.
    pub(crate) fn wanted(&self) -> Result<FileAttributes, Failure> {
        let follow = self.args.follow && Found::at(&self.path)? == Found::Link;
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

    /// What a difference starts with.
    pub(crate) fn diff(&self, path: &Path, found: Found, state: &str) -> AttributesDiff {
        let mut diff = AttributesDiff::default();
        diff.note("path", text(path), text(path));
        if found.name() != state {
            diff.note("state", found.name(), state);
        }
        diff
    }

    /// A result under the key that the state has for its path.
    pub(crate) fn exit(&self, key: &str, path: &Path, changed: bool, diff: AttributesDiff) -> Exit {
        let exit = Exit::new(changed).with(key, text(path));
        if self.module.diff_wanted() { exit.with("diff", diff.into_value()) } else { exit }
    }
}
