//! Which of several modules of a name runs in a play, and what is said about that. It does not choose.

use modbox_run::library::FoundModule;

use crate::cli::play::task_modules::names::OwnModule;

/// The module that runs.
pub(crate) struct Choice {
    pub(crate) found: FoundModule,
    /// Why it is not modbox's component of that name, for a note.
    pub(crate) fallback: Option<String>,
    /// What the result says of a component that is not proven, and runs for want of another module.
    pub(crate) warning: Option<String>,
}

impl Choice {
    /// Returns the choice of Ansible's own module instead of a component, with the reason.
    pub(crate) fn instead_of(own: &OwnModule, classic: FoundModule, reason: &str) -> Self {
        let fallback = format!("Ansible's own module ran, not modbox's component `{}`: {reason}", own.name());
        Self { found: classic, fallback: Some(fallback), warning: None }
    }
}

impl From<FoundModule> for Choice {
    fn from(found: FoundModule) -> Self {
        Self { found, fallback: None, warning: None }
    }
}
