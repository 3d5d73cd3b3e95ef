//! How commands run outside of a native module's room: as which user, with which variables, and where copies of files lie.

use std::path::PathBuf;

use modbox_native::OutsideRequest;
use modbox_policy::outside::Kind;
use modbox_policy::{Policy, find_user};
use modbox_scratch::{DirPurpose, RunDir};

use crate::execution::request::RunRequest;
use crate::execution::runner::Runner;
use crate::grants::native::environment;
use crate::reports::error::RunError;

impl Runner {
    /// Returns how the commands of a run go outside, and the directory of the copies, which has to stay until the run is over.
    /// `None` for a run without such grants, and for one without a room.
    pub(crate) fn outside_request(
        &self,
        request: &RunRequest<'_>,
    ) -> Result<Option<(OutsideRequest, Option<RunDir>)>, RunError> {
        let policy = request.policy;
        if policy.outside().is_empty() || request.is_free() {
            return Ok(None);
        }
        let takes_files = policy.outside().iter().any(|grant| grant.rule.kinds().any(Kind::is_file));
        // Apart from the run's own directory, which the module may change.
        let copies = takes_files.then(|| RunDir::create(&self.scratch, DirPurpose::Run, policy.user())).transpose()?;
        let (user, home) = account(policy)?;
        let request = OutsideRequest {
            user,
            home,
            environment: environment(policy),
            limit: request.limits.outside,
            inputs: copies.as_ref().map(|dir| dir.path().to_owned()).unwrap_or_default(),
        };
        Ok(Some((request, copies)))
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
