//! Which uses of an observed module do not become grants, or others.
//!
//! Only files are taken back from a granted name, so a directory or link that a module made needs the directory around it.
//! A program that looks at a path gets less than a grant of reading gives. Two such uses would grant far more than the module
//! had, so they become remarks, and a person decides: a look at a file that not all users may read, and the listing of a
//! directory at the top, such as `/etc`. A directory on the way to granted paths needs no grant.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use modbox_vocabulary::{Capability, Operation};

use super::record::{Lacking, RunRecord, denied};

/// The right of all users to read.
const READABLE: u32 = 0o004;

/// Returns the remark about a use that does not become a grant.
pub(super) fn left_out(missing: &Lacking) -> Option<String> {
    let path = Path::new(&missing.subject);
    if missing.capability != Capability::Read.as_str() || !path.is_absolute() {
        return None;
    }
    let metadata = path.metadata().ok()?;
    let shown = &missing.subject;
    if metadata.is_dir() && path.components().count() <= 2 {
        return Some(format!("left out, because it would grant all of a directory at the top: read {shown}"));
    }
    let is_look = missing.cause.ends_with(&Operation::Look.to_string());
    let is_secret = !metadata.is_dir() && metadata.permissions().mode() & READABLE == 0;
    (is_look && is_secret).then(|| {
        format!("left out, because the module only looked at this file, which not all users may read: read {shown}")
    })
}

/// Returns whether a use made a directory that exists, on the way to another use or grant, as `install -D` does. A room
/// has such a directory.
pub(super) fn is_way(missing: &Lacking, record: &RunRecord) -> bool {
    let on_the_way = |missing: &Lacking| {
        missing.capability == Capability::Read.as_str() && missing.cause == denied(Operation::MakeDirectory)
    };
    let others = record.missing.iter().filter(|other| !on_the_way(other)).map(|other| &other.subject);
    let mut subjects = others.chain(record.grants.iter().map(|grant| &grant.subject));
    let below = |subject: &String| *subject != missing.subject && Path::new(subject).starts_with(&missing.subject);
    on_the_way(missing) && subjects.any(below)
}

/// Returns the directory that has to be granted in the place of the path of a use.
pub(super) fn directory_instead(missing: &Lacking) -> Option<String> {
    let made = [Operation::MakeDirectory, Operation::MakeLink].map(denied);
    let is_new = missing.capability == Capability::Write.as_str() && made.contains(&missing.cause);
    let around = Path::new(&missing.subject).parent().filter(|_| is_new)?;
    // A directory at the top is never suggested.
    around.to_str().filter(|_| around.components().count() > 2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacking(capability: Capability, subject: &str, operation: Operation) -> Lacking {
        let (capability, allow) = (capability.to_string(), format!("--allow-{capability} {subject}"));
        Lacking { capability, subject: subject.to_owned(), cause: format!("denied: {operation}"), allow }
    }

    #[test]
    fn what_is_made_needs_the_directory_around_it() {
        for (subject, operation, expect) in [
            ("/srv/app/link", Operation::MakeLink, Some("/srv/app")),
            ("/srv/app/folder", Operation::MakeDirectory, Some("/srv/app")),
            ("/srv/app/file", Operation::Open, None),
            ("/srv/folder", Operation::MakeDirectory, None),
        ] {
            let lacking = lacking(Capability::Write, subject, operation);
            assert_eq!(directory_instead(&lacking).as_deref(), expect, "{subject}");
        }
        let exists = lacking(Capability::Read, "/srv/app", Operation::MakeDirectory);
        assert_eq!(directory_instead(&exists), None);
    }

    #[test]
    fn a_directory_that_exists_on_the_way_to_others_needs_no_grant() {
        let [srv, app, lib] = ["/srv", "/srv/app", "/srv/lib"]
            .map(|subject| lacking(Capability::Read, subject, Operation::MakeDirectory));
        let made = lacking(Capability::Write, "/srv/app/new", Operation::MakeDirectory);
        let missing = vec![srv.clone(), app.clone(), lib.clone(), made.clone()];
        let record = RunRecord { missing, ..RunRecord::default() };
        assert_eq!([srv, app, lib, made].map(|missing| is_way(&missing, &record)), [true, true, false, false]);
    }

    #[test]
    fn secrets_that_were_only_looked_at_and_directories_at_the_top_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, open) = (dir.path().join("secret"), dir.path().join("open"));
        for (path, mode) in [(&secret, 0o600), (&open, 0o644)] {
            std::fs::write(path, "").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        for (path, operation, expect) in [
            (secret.to_str().unwrap(), Operation::Look, true),
            (secret.to_str().unwrap(), Operation::Open, false),
            (open.to_str().unwrap(), Operation::Look, false),
            ("/etc", Operation::Open, true),
            ("/etc/ssl", Operation::Open, false),
            ("/no/such/file", Operation::Look, false),
        ] {
            assert_eq!(left_out(&lacking(Capability::Read, path, operation)).is_some(), expect, "{path} {operation}");
        }
    }
}
