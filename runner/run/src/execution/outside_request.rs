//! How commands run outside of a module's sandbox: as which user, with which variables, and where copies of files lie.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use modbox_native::{GuestCopies, OutsideRequest};
use modbox_policy::outside::Kind;
use modbox_policy::{Policy, find_user};
use modbox_scratch::{DirPurpose, RunDir};
use modbox_vocabulary::Limits;

use crate::execution::commands::CommandsOutside;
use crate::grants::native::environment;
use crate::reports::error::RunError;
use crate::runner::Runner;
use crate::runner::run_form::RunForm;

impl Runner {
    /// Returns how the commands of a run go outside, and the directory of the copies, which has to stay until the run is over.
    /// With `shows_copies`, there is one also if no rule takes files. `None` for a run without such grants, and for one that is
    /// granted everything.
    pub(crate) fn outside_request(
        &self,
        policy: &Policy,
        limits: &Limits,
        shows_copies: bool,
    ) -> Result<Option<(OutsideRequest, Option<RunDir>)>, RunError> {
        if policy.outside().is_empty() || policy.allows_everything() {
            return Ok(None);
        }
        let takes_files = policy.outside().iter().any(|grant| grant.rule.kinds().any(Kind::is_file));
        // Apart from the run's own directory, which the module may change.
        let copies = (takes_files || shows_copies)
            .then(|| RunDir::create(&self.scratch, DirPurpose::Run, policy.user()))
            .transpose()?;
        let (user, home) = account(policy)?;
        let request = OutsideRequest {
            user,
            home,
            environment: environment(policy),
            limit: limits.outside,
            inputs: copies.as_ref().map(|dir| dir.path().to_owned()).unwrap_or_default(),
        };
        Ok(Some((request, copies)))
    }

    /// Returns the policy of a guest for a module with this one, and its commands outside, if it has some. `own` is the directory of
    /// the run.
    pub(crate) fn commands_outside<'p>(
        &self,
        form: &RunForm,
        (granted, limits): (&'p Policy, &Limits),
        own: &Path,
    ) -> Result<(Cow<'p, Policy>, Option<CommandsOutside>), RunError> {
        let mut policy = self.guest_policy(form, granted);
        let shown = GuestCopies::needed(&policy);
        let Some((request, copies)) = self.outside_request(granted, limits, !shown.is_empty())? else {
            return Ok((policy, None));
        };
        let make = |copies: &RunDir| GuestCopies::make(&shown, copies.path())?.with_passwords(granted, copies.path());
        let shown = copies.as_ref().map(make);
        let shown = shown.transpose().map_err(RunError::CopyForGuest)?;
        if let Some(shown) = &shown {
            shown.show(policy.to_mut());
        }
        let outside =
            CommandsOutside::new((granted, policy.paths()), (request, copies), shown, own, &self.config.cleanup);
        Ok((policy, Some(outside)))
    }
}

/// Returns name and home of the user whose commands they are. A user that the machine does not list has a number for a name.
fn account(policy: &Policy) -> Result<(String, PathBuf), RunError> {
    let own = || {
        let number = rustix::process::geteuid().as_raw().to_string();
        let found = find_user(&number).map_err(|source| RunError::User { user: number.clone(), source })?;
        Ok(found.map_or_else(|| (number, PathBuf::from("/")), |user| (user.name, user.home)))
    };
    policy.user().map_or_else(own, |user| Ok((user.name.clone(), user.home.clone())))
}
