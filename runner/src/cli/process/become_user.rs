//! The user of a run, by `--become-user` or the `become_user` of a job: finds it, and makes the run that of the user.

use anyhow::{Context as _, anyhow};
use modbox_policy::{EnvGrant, Policy, find_user};
use modbox_vocabulary::{GrantSource, User};

use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::process::environment::Environment;

/// Finds the user of a run. Returns `None` if that is the user who runs modbox.
///
/// # Errors
///
/// The user is unknown, or this process may not run anything as another user.
pub(crate) fn resolve(written: Option<&str>) -> Result<Option<User>, Failure> {
    let Some(written) = written else { return Ok(None) };
    let found = find_user(written).context("failed to read the users of this machine").or_internal()?;
    let unknown = || anyhow!("unknown user `{written}`; expected a name or a number in `/etc/passwd`");
    let user = found.ok_or_else(unknown).or_usage()?;
    let own = rustix::process::geteuid();
    if user.uid == own.as_raw() {
        return Ok(None);
    }
    if !own.is_root() {
        let name = &user.name;
        let error = anyhow!("failed to become the user `{name}`: only root can; start modbox with `sudo modbox ...`");
        return Err(Failure { status: ExitStatus::Denied, error });
    }
    Ok(Some(user))
}

/// Makes a run that of a user: with the variables that describe the user, except those that the policy gives another
/// value.
pub(crate) fn apply(policy: &mut Policy, user: Option<User>, environment: &Environment) {
    let Some(user) = user else { return };
    for (name, value) in user.variables() {
        let granted = policy.env().iter().find(|grant| grant.name == name);
        // A variable that is granted without a value has that of the user who runs modbox.
        let is_own = |grant: &EnvGrant| environment.variable(name).is_some_and(|own| own == grant.value.as_str());
        if granted.is_none_or(is_own) {
            let source = granted.map_or_else(|| GrantSource::named("become_user"), |grant| grant.source.clone());
            let (name, value) = (name.to_owned(), value.to_string_lossy().into_owned());
            policy.allow_env(EnvGrant { name, value, source });
        }
    }
    policy.set_user(user);
}
