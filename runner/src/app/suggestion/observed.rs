//! Which uses of an observed module do not become grants, or others.
//!
//! Only files are taken back from a granted name, so a directory or link that a module made needs the directory around it.
//! A program that looks at a path gets less than a grant of reading gives. Two such uses would grant far more than the module
//! had, so they become remarks, and a person decides: a look at a file that not all users may read, and the listing of a
//! directory at the top, such as `/etc`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use modbox_vocabulary::{Capability, Operation};

use super::record::Lacking;

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

/// Returns the directory that has to be granted in the place of the path of a use.
pub(super) fn directory_instead(missing: &Lacking) -> Option<String> {
    let made = [Operation::MakeDirectory, Operation::MakeLink].map(|operation| format!("denied: {operation}"));
    let around = Path::new(&missing.subject).parent().filter(|_| made.contains(&missing.cause))?;
    // A directory at the top is never suggested.
    around.to_str().filter(|_| around.components().count() > 2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacking(subject: &str, operation: Operation) -> Lacking {
        let (capability, allow) = ("read".to_owned(), format!("--allow-read {subject}"));
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
            assert_eq!(directory_instead(&lacking(subject, operation)).as_deref(), expect, "{subject}");
        }
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
            assert_eq!(left_out(&lacking(path, operation)).is_some(), expect, "{path} {operation}");
        }
    }
}
