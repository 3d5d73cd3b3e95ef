//! Users that this machine does not have when a play is explained: a task of the play may make them.

use modbox_policy::find_user;

use crate::cli::play::task_modules::requested_run::RequestedRun;
use crate::cli::play::task_modules::task_start::NotRun;

/// Takes the user from a run if this machine does not have it, and returns its name. The run is then explained as one of the user
/// that runs modbox.
///
/// # Errors
///
/// The users of this machine cannot be read.
pub(crate) fn take(run: &mut RequestedRun<'_>) -> Result<Option<String>, NotRun> {
    let Some(name) = run.become_user else { return Ok(None) };
    let found = find_user(name);
    let found =
        found.map_err(|error| NotRun::Internal(format!("failed to read the users of this machine: {error}")))?;
    if found.is_none() {
        run.become_user = None;
    }
    Ok(found.is_none().then(|| name.to_owned()))
}
