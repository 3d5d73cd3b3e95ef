//! Rules of a policy file that have a key: the name or the digest of a module, or the name of a task.

use std::fmt;
use std::path::PathBuf;

use modbox_policy::{FileRules, Located, Rules};
use modbox_vocabulary::GrantSource;

use crate::cli::process::environment::Environment;
use crate::cli::settings::files;

/// The rules of a policy file for one module, or for tasks. They are resolved only when such a module or task runs, so
/// that a missing path in them does not affect others.
pub(super) struct KeyedRules<K> {
    pub(super) file: PathBuf,
    pub(super) key: Located<K>,
    pub(super) rules: FileRules,
    /// Whether they only restrict; see [`Rules::narrows`].
    pub(super) narrows: bool,
}

impl<K: fmt::Display> KeyedRules<K> {
    pub(super) fn resolved(&self, environment: &Environment) -> anyhow::Result<Rules> {
        let source = GrantSource::PolicyFile(format!("{}, `{}`", self.file.display(), self.key.value));
        let rules = files::resolve_there(environment, &self.file, &self.rules, &source)?;
        Ok(Rules { narrows: self.narrows, ..rules })
    }
}
