//! The `/tmp` of a guest, which its commands share.
//!
//! They share it in a room with mounts of its own, if no grant lies in `/tmp`: the shared directory would get the mount
//! point of the grant, and the guest could change it.

use std::path::{Component, Path, PathBuf};

use modbox_native::{ProgramCommand, run_program};
use modbox_policy::run::STANDARD_DIRECTORIES;
use modbox_policy::{PathGrant, Policy};
use modbox_scratch::DirPurpose;
use modbox_vocabulary::{ConfinementLayer, Limits};

use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;

/// The directory of temporary files, in guests and in rooms.
pub(super) const TMP: &str = "/tmp";

/// Program that does nothing.
const NOTHING: &str = "true";

/// Returns a grant that lies in `/tmp`.
pub(super) fn grant_in_tmp(policy: &Policy) -> Option<&PathGrant> {
    policy.paths().iter().find(|grant| Path::new(&grant.guest).starts_with(TMP))
}

/// Returns the real path of the directory `temporary` in the directory `own` of a worker; `None` if it is not there. The
/// worker names it, and may have been taken over by its guest.
pub(super) fn real_path(own: &Path, temporary: &Path) -> Option<PathBuf> {
    let rest = place_below(own, temporary)?;
    // The worker can put links below `own`, and the launcher follows none.
    Some(own.canonicalize().ok()?.join(rest))
}

/// Returns the way from the directory `own` of a worker to a directory in it that the worker names; `None` if it names another.
pub(super) fn place_below<'p>(own: &Path, temporary: &'p Path) -> Option<&'p Path> {
    let rest = temporary.strip_prefix(own).ok()?;
    let is_plain = rest.components().all(|component| matches!(component, Component::Normal(_)));
    is_plain.then_some(rest)
}

impl Runner {
    /// Returns whether the commands of a guest with these grants see the files in its `/tmp`.
    pub(crate) fn shares_temporary(&self, policy: &Policy) -> bool {
        grant_in_tmp(policy).is_none() && *self.has_mounts.get_or_init(|| self.try_mounts().unwrap_or(false))
    }

    /// Returns whether the kernel gives a room mounts of its own, by a command that does nothing. `None` if it cannot be
    /// started.
    fn try_mounts(&self) -> Option<bool> {
        let context = self.native_context(&Policy::default(), Scrutiny::Confined, false, Vec::new());
        let program = STANDARD_DIRECTORIES.iter().map(|directory| Path::new(directory).join(NOTHING));
        let command = ProgramCommand {
            program: program.into_iter().find(|path| path.is_file())?,
            argv: vec![NOTHING.into()],
            directory: None,
            umask: None,
            stdin: Vec::new(),
        };
        let scratch = self.scratch.create(DirPurpose::Run, None).ok()?;
        let ended = run_program(&context, &command, scratch.path(), &Limits::default()).ok()?;
        Some(ended.outcome.confinement.layers.contains(&ConfinementLayer::NamespaceMount))
    }
}

#[cfg(test)]
mod tests {
    use modbox_policy::{Access, Shape};
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn a_directory_that_is_not_the_workers_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().canonicalize().unwrap();
        for (path, expect) in [
            (own.join("user/run"), Some(own.join("user/run"))),
            (own.clone(), Some(own.join(""))),
            (own.join("../other"), None),
            (own.join("run/../../other"), None),
            (PathBuf::from("/etc"), None),
            (PathBuf::from("run"), None),
            (PathBuf::from(format!("{}-other", own.display())), None),
        ] {
            assert_eq!(real_path(&own, &path), expect, "{}", path.display());
        }
    }

    #[test]
    fn grants_in_the_temporary_directory_are_found() {
        for (path, is_in_tmp) in [("/tmp/a/b", true), ("/tmpfs", false), ("/var/tmp", false), ("/", false)] {
            let mut policy = Policy::default();
            let (guest, source) = (path.to_owned(), GrantSource::named(""));
            let grant = PathGrant { host: path.into(), shape: Shape::Directory, guest, access: Access::Read, source };
            policy.allow_path(grant).unwrap();
            assert_eq!(grant_in_tmp(&policy).is_some(), is_in_tmp, "{path}");
        }
    }
}
