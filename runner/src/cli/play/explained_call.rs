//! What a run of a task's module would be.

use std::path::PathBuf;

use modbox_argument_spec::Secrets;
use modbox_policy::Policy;
use modbox_run::ManagedNeeds;
use modbox_vocabulary::{Denial, Grant};

/// A run of a module that was not started.
#[derive(Debug, Default)]
pub(crate) struct ExplainedCall {
    /// Name that the task or its action uses.
    pub(crate) name: String,
    /// Name of the module, its kind and its file.
    pub(crate) module: Option<(String, String, PathBuf)>,
    /// Grants of its arguments.
    pub(crate) designated: Vec<Grant>,
    /// Profiles that its arguments grant, each with its names.
    pub(crate) designated_profiles: Vec<String>,
    /// Grants that it lacks, and that a person would be asked for.
    pub(crate) asks: Vec<Denial>,
    /// Other grants that it lacks.
    pub(crate) needs: Vec<Denial>,
    /// What it lacks besides paths, by modbox's table of Ansible's modules.
    pub(crate) managed: ManagedNeeds,
    /// The digest of the module and of all its parts.
    pub(crate) digest: Option<String>,
    /// Which of the grants of its arguments are as powerful as root.
    pub(crate) powers: Vec<String>,
    /// The user that it runs as, if the machine does not have it before the run.
    pub(crate) absent_user: Option<String>,
    /// What else is known of the run.
    pub(crate) notes: Vec<String>,
    /// Why it could not run at all.
    pub(crate) error: Option<String>,
}

/// Returns the remark that nothing confines a module, if a rule says so.
pub(crate) fn unconfined(policy: &Policy) -> Option<String> {
    policy.unconfined_by().map(|source| format!("nothing confines it: `unconfined`, {source}"))
}

impl ExplainedCall {
    /// Returns what stays open for a user that the machine does not have.
    pub(crate) fn open_needs(&self) -> Option<String> {
        let user = self.absent_user.as_ref()?;
        Some(format!(
            "the user `{user}` is not known before the run; what `{}` needs as that user stays open",
            self.name
        ))
    }

    /// Removes secrets of the arguments.
    pub(crate) fn mask(&mut self, secrets: &Secrets) {
        let one = |text: &mut String| *text = secrets.mask_text(text);
        self.designated.iter_mut().for_each(|grant| one(&mut grant.subject));
        for need in self.asks.iter_mut().chain(&mut self.needs) {
            [&mut need.subject, &mut need.allow].into_iter().for_each(one);
        }
        let managed = &mut self.managed;
        managed.profiles.iter_mut().flat_map(|need| &mut need.names).for_each(one);
        managed.uncovered.iter_mut().for_each(one);
        [&mut self.designated_profiles, &mut self.powers, &mut self.notes].into_iter().flatten().for_each(one);
    }
}
