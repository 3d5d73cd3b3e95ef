//! What a run of a task's module would be.

use std::path::PathBuf;

use modbox_argument_spec::Secrets;
use modbox_policy::Policy;
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
    /// Grants that it lacks.
    pub(crate) needs: Vec<Denial>,
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
        for need in &mut self.needs {
            [&mut need.subject, &mut need.allow].into_iter().for_each(one);
        }
        self.notes.iter_mut().for_each(one);
    }
}
