//! Modules that a rule of a policy file takes out of confinement.

use modbox_vocabulary::GrantSource;

use crate::grant_set::Policy;

impl Policy {
    /// Returns the rule of a policy file by which nothing confines the module, if there is one; `None` for `--allow-all`.
    #[must_use]
    pub fn unconfined_by(&self) -> Option<&GrantSource> {
        self.everything.as_ref().filter(|source| matches!(source, GrantSource::PolicyFile(_)))
    }
}
