//! The key `offline` of policy files: no registry is asked.
//!
//! It holds as soon as one file has it, so that no user takes back what the system's file says.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_policy::{Place, PolicyFile};

use crate::cli::process::environment::Environment;
use crate::cli::settings::files::{self, FileChoice};
use crate::cli::settings::policy_folder;

/// The rule of a policy file that no registry is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfflineRule {
    path: PathBuf,
    place: Place,
}

impl OfflineRule {
    /// Returns the rule of a policy file, if the file has it.
    pub(super) fn in_file(path: &Path, file: &PolicyFile) -> Option<Self> {
        let rule = file.offline.as_ref().filter(|rule| rule.value)?;
        Some(Self { path: path.to_owned(), place: rule.place })
    }

    /// Returns the first rule of the policy files that apply to every run, and of these.
    ///
    /// # Errors
    ///
    /// A file is wrong, or one of these is missing.
    pub(crate) fn of(environment: &Environment, named: &[PathBuf]) -> anyhow::Result<Option<Self>> {
        for path in policy_folder::implied(environment)? {
            let file = files::load(&path, FileChoice::Implied)?;
            if let Some(rule) = file.and_then(|(file, _)| Self::in_file(&path, &file)) {
                return Ok(Some(rule));
            }
        }
        for path in named {
            let missing = || format!("failed to find the policy file `{}`", path.display());
            let (file, _) = files::load(path, FileChoice::Named)?.with_context(missing)?;
            if let Some(rule) = Self::in_file(path, &file) {
                return Ok(Some(rule));
            }
        }
        Ok(None)
    }

    /// Returns the place of the rule: `/etc/modbox/policy.yaml:3`.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.path.display(), self.place.line)
    }
}

impl fmt::Display for OfflineRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` says `offline: true`", self.place())
    }
}
