//! What the monitor does with the rights of the user whose run it is, and the grants that this user cannot reach.
//!
//! The monitor is root then. A path that root can reach may be out of the user's reach, and a run must not open a way to it:
//! modbox would show the module a directory whose parents keep the user out.

use std::io;
use std::path::Path;

use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::{Capability, Denial, Operation, User};
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use crate::reports::error::RunError;
use crate::reports::missing_grant::{MissingGrant, Need};

/// Grants that are listed; a person reads no more.
const MAX_LISTED: usize = 16;

/// Calls `action` with the rights of another user to files; with those of this process if `user` is `None`.
///
/// # Errors
///
/// This process may not act as another user.
pub(crate) fn as_user<T>(user: Option<&User>, action: impl FnOnce() -> T) -> Result<T, RunError> {
    modbox_kernel::as_user(user, action).map_err(|source| {
        let user = user.map(|user| user.name.clone()).unwrap_or_default();
        RunError::User { user, source }
    })
}

/// Checks that the user whose run it is can reach the directory of the run.
///
/// # Errors
///
/// The folder for temporary files keeps the user out.
pub(crate) fn check_scratch(user: Option<&User>, directory: &Path) -> Result<(), RunError> {
    let Some(name) = user.map(|user| user.name.clone()) else { return Ok(()) };
    match as_user(user, || enter(directory))? {
        Ok(()) => Ok(()),
        Err(errno) => Err(RunError::ScratchOfUser { user: name, path: directory.to_owned(), source: errno.into() }),
    }
}

/// Returns the granted paths that the user whose run it is cannot reach. The caller acts as that user.
pub(crate) fn unreached(policy: &Policy) -> Vec<MissingGrant> {
    let Some(user) = policy.user().filter(|_| !policy.allows_everything()) else { return Vec::new() };
    let missing = policy.paths().iter().filter_map(|grant| {
        let errno = reach(grant).err().filter(|errno| *errno == Errno::ACCESS)?;
        let capability = match grant.access {
            Access::Read => Capability::Read,
            Access::Write => Capability::Write,
        };
        let subject = grant.host.display().to_string();
        let denial = Denial { capability, subject, operation: Operation::Grant, allow: String::new() };
        let reason = io::Error::from(errno).to_string();
        Some(MissingGrant { denial, need: Need::Reach { user: user.name.clone(), reason } })
    });
    missing.take(MAX_LISTED).collect()
}

/// Looks for a granted path as a module would: a single name in its directory, which must be there.
fn reach(grant: &PathGrant) -> rustix::io::Result<()> {
    match (grant.shape, grant.host.parent()) {
        (Shape::Name, Some(parent)) => enter(parent),
        _ => enter(&grant.host),
    }
}

fn enter(directory: &Path) -> rustix::io::Result<()> {
    rustix::fs::accessat(CWD, directory, rustix::fs::Access::EXEC_OK, AtFlags::EACCESS)
}
