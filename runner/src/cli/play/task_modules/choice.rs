//! Which of several modules of a name runs in a play, and what is said about that. It does not choose.

use modbox_run::library::FoundModule;
use modbox_run::{Report, Status};

use crate::cli::play::task_modules::names::OwnModule;

/// The module that runs.
pub(crate) struct Choice {
    pub(crate) found: FoundModule,
    pub(crate) notes: ChoiceNotes,
}

/// What is said about the choice of a module.
#[derive(Debug, Default)]
pub(crate) struct ChoiceNotes {
    /// Why it is not modbox's component of that name, for a note.
    pub(crate) fallback: Option<String>,
    /// The name of modbox's component that would run if it were built.
    unbuilt: Option<String>,
    /// What the result says of a component that is not proven, and runs for want of another module.
    pub(crate) warning: Option<String>,
}

impl Choice {
    /// Returns the choice of a component, with what its result says.
    pub(crate) fn component(found: FoundModule, warning: Option<String>) -> Self {
        Self { found, notes: ChoiceNotes { warning, ..ChoiceNotes::default() } }
    }

    /// Returns the choice of Ansible's own module instead of a component that is not built.
    pub(crate) fn until_built(own: &OwnModule, classic: FoundModule, reason: &str) -> Self {
        let mut choice = Self::instead_of(own, classic, reason);
        choice.notes.unbuilt = Some(own.name().to_owned());
        choice
    }

    /// Returns the choice of Ansible's own module instead of a component, with the reason.
    pub(crate) fn instead_of(own: &OwnModule, classic: FoundModule, reason: &str) -> Self {
        let fallback = format!("Ansible's own module ran, not modbox's component `{}`: {reason}", own.name());
        Self { found: classic, notes: ChoiceNotes { fallback: Some(fallback), ..ChoiceNotes::default() } }
    }
}

impl ChoiceNotes {
    /// Adds the notes to the report of the run.
    pub(crate) fn tell(self, report: &mut Report) {
        // The component needs fewer grants than a native module, for which a new file is granted by its folder.
        let is_denied = report.status == Status::Denied || !report.denials.is_empty() && !report.observed;
        if let Some(name) = self.unbuilt.filter(|_| is_denied && !report.status.is_success()) {
            report.result.warn_first(&format!(
                "Ansible's own module was denied, which ran since modbox's component `{name}` is not built; run `modbox build \
                 {name}` before you grant more"
            ));
        }
        report.notes.extend(self.fallback);
        self.warning.iter().for_each(|warning| report.result.warn(warning));
    }
}

impl From<FoundModule> for Choice {
    fn from(found: FoundModule) -> Self {
        Self { found, notes: ChoiceNotes::default() }
    }
}
