//! Where operands of commands outside are that are files of the module: in its room, or in what a guest sees.

use std::os::fd::BorrowedFd;
use std::path::Path;

use modbox_policy::{PathGrant, Shape};
use modbox_vocabulary::User;
use serde::{Deserialize, Serialize};

use crate::outside::inputs::{self, GuestPlace, InputError};

/// The guest's directory of temporary files.
const TMP: &str = "/tmp";

/// Where operands that are files of the module are. A directory comes with each ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OperandFiles {
    /// In the file system of the process that asks. The directory is its root.
    Room,
    /// In what a guest is granted. The directory is the guest's `/tmp`.
    Guest(Vec<PathGrant>),
}

impl OperandFiles {
    /// Reads a file of the module. `directory` is the one that came with the ask.
    ///
    /// # Errors
    ///
    /// A path that the module does not see, and a file that is not regular, or too long.
    pub(crate) fn read(
        &self,
        directory: BorrowedFd<'_>,
        path: &str,
        user: Option<&User>,
    ) -> Result<Vec<u8>, InputError> {
        match self {
            Self::Room => inputs::read(directory, path, user),
            Self::Guest(grants) => {
                let place = place(grants, directory, Path::new(path)).ok_or(InputError::NotSeen)?;
                inputs::read_of_guest(&place, user)
            }
        }
    }
}

/// Finds a path of a guest. Of several grants around it, the innermost counts, as in the guest. What leads out of a grant again,
/// by `..` or by a link, is refused where it is read.
fn place<'a, D>(grants: &'a [PathGrant], directory: D, path: &Path) -> Option<GuestPlace<'a, D>> {
    let around = |grant: &&PathGrant| match grant.shape {
        Shape::Directory => path.starts_with(&grant.guest),
        Shape::Name => path == Path::new(&grant.guest),
    };
    let innermost =
        grants.iter().filter(around).max_by_key(|grant| (Path::new(&grant.guest).components().count(), grant.access));
    let below = |outer: &str| path.strip_prefix(outer).ok().map(Path::to_owned);
    match innermost {
        Some(grant) if grant.shape == Shape::Name => Some(GuestPlace::Name { host: &grant.host }),
        Some(grant) => Some(GuestPlace::Directory { host: &grant.host, below: below(&grant.guest)? }),
        None => Some(GuestPlace::Temporary { directory, below: below(TMP)? }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;
    use std::os::unix::fs::symlink;

    use modbox_policy::Access;

    use super::*;

    fn grant(guest: &str, host: &Path, shape: Shape) -> PathGrant {
        let (guest, source) = (guest.to_owned(), modbox_vocabulary::GrantSource::named("test"));
        PathGrant { host: host.to_owned(), shape, guest, access: Access::Read, source }
    }

    #[test]
    fn the_innermost_grant_around_a_path_counts() {
        let at = Path::new("/host");
        let grants = [
            grant("/srv", at, Shape::Directory),
            grant("/srv/app/table", &at.join("table"), Shape::Name),
            grant("/tmp/shared", &at.join("shared"), Shape::Directory),
        ];
        let found = |path: &str| place(&grants, (), Path::new(path));
        let directory = |host: &str, below: &str| {
            let host = grants.iter().find(|grant| grant.host == Path::new(host)).unwrap().host.as_path();
            Some(GuestPlace::Directory { host, below: below.into() })
        };
        assert_eq!(found("/srv/app/x"), directory("/host", "app/x"));
        assert_eq!(found("/srv/app/table"), Some(GuestPlace::Name { host: &grants[1].host }));
        assert_eq!(found("/srv/app/tables"), directory("/host", "app/tables"));
        assert_eq!(found("/tmp/shared/x"), directory("/host/shared", "x"));
        assert_eq!(found("/tmp/x"), Some(GuestPlace::Temporary { directory: (), below: "x".into() }));
        for path in ["/etc/shadow", "/tmpfs/x", "/srvx", "/", "relative"] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn nothing_but_what_the_guest_sees_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in ["tmp", "granted", "granted/in", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        for (name, text) in [("tmp/a", "a"), ("granted/in/b", "b"), ("other/secret", "secret"), ("one", "one")] {
            fs::write(at(name), text).unwrap();
        }
        for (link, target) in [
            ("tmp/out", "../other/secret"),
            ("tmp/absolute", at("other/secret").to_str().unwrap()),
            ("tmp/in", "a"),
            ("granted/link", "in/b"),
            ("granted/up", "../other"),
            ("replaced", "other/secret"),
            ("way", "other"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let files = OperandFiles::Guest(vec![
            grant("/srv", &at("granted"), Shape::Directory),
            grant("/etc/one", &at("one"), Shape::Name),
            grant("/etc/replaced", &at("replaced"), Shape::Name),
            grant("/etc/way", &at("way/secret"), Shape::Name),
            grant("/swapped", &at("way"), Shape::Directory),
        ]);
        let tmp = File::open(at("tmp")).unwrap();
        let read = |path: &str| files.read(tmp.as_fd(), path, None);
        for (path, text) in
            [("/tmp/a", "a"), ("/tmp/in", "a"), ("/srv/link", "b"), ("/srv/in/b", "b"), ("/etc/one", "one")]
        {
            assert_eq!(read(path).unwrap(), text.as_bytes(), "{path}");
        }
        for path in [
            "/tmp/out",
            "/tmp/absolute",
            "/tmp/../other/secret",
            "/srv/../other/secret",
            "/srv/up/secret",
            "/etc/replaced",
            "/etc/way",
            "/swapped/secret",
            "/tmp/none",
        ] {
            assert!(matches!(read(path), Err(InputError::Open(_))), "{path}");
        }
        assert!(matches!(read("/etc/shadow"), Err(InputError::NotSeen)));
        assert!(matches!(read("/srv/in"), Err(InputError::NotRegular)));
    }
}
