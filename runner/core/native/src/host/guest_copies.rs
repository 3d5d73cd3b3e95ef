//! Copies of the machine's lists of users and of its settings for a guest whose commands outside change them.
//!
//! A guest has the files that it is granted open from its start, and programs of the system replace theirs. So such a guest gets
//! copies instead of granted files, which the host writes anew when a command has ended. The guest waits meanwhile, so it sees no half of a file.
//! The host keeps the copies open: whatever a guest does to their names, it writes nothing else.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use modbox_policy::outside::BoundNames;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::{FileFingerprint, GrantSource};
use rustix::fs::{FileType, Mode, OFlags};

use crate::rooms::base::{self, CHANGED_BY_COMMANDS, MAX_COPY};
use crate::rooms::passwords;

/// The copies of a guest.
#[derive(Debug)]
pub struct GuestCopies {
    copies: Vec<Copy>,
    passwords: Option<Passwords>,
}

/// The file with the passwords of named users, for a guest that manages them.
#[derive(Debug)]
struct Passwords {
    names: Vec<BoundNames>,
    at: PathBuf,
    file: File,
}

#[derive(Debug)]
struct Copy {
    /// The file of the machine.
    path: &'static str,
    /// The copy.
    at: PathBuf,
    file: File,
    /// What the file was when it was copied last.
    known: Option<FileFingerprint>,
}

impl GuestCopies {
    /// Returns the files of which a guest with this policy needs copies: those that it may read by name, and that are the machine's
    /// own.
    #[must_use]
    pub fn needed(policy: &Policy) -> Vec<&'static str> {
        CHANGED_BY_COMMANDS.into_iter().filter(|path| policy.paths().iter().any(|grant| is_of(grant, path))).collect()
    }

    /// Makes copies in a directory that no other user can write.
    ///
    /// # Errors
    ///
    /// A copy cannot be written.
    pub fn make(paths: &[&'static str], directory: &Path) -> io::Result<Self> {
        let mut copies = Vec::new();
        for path in paths {
            let at = directory.join(Path::new(path).file_name().unwrap_or_default());
            let file = File::options().write(true).create_new(true).mode(0o644).open(&at)?;
            // Whatever the umask of this process is: the guest may be another user's.
            rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644))?;
            let mut copy = Copy { path, at, file, known: None };
            copy.refresh()?;
            copies.push(copy);
        }
        Ok(Self { copies, passwords: None })
    }

    /// Adds a file with the passwords of the users that a policy names, if it binds rules for users to names.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn with_passwords(mut self, policy: &Policy, directory: &Path) -> io::Result<Self> {
        let names = passwords::shown_to(policy);
        if names.is_empty() {
            return Ok(self);
        }
        let at = directory.join("shadow");
        let file = File::options().write(true).create_new(true).mode(0o600).open(&at)?;
        if let Some(user) = policy.user() {
            rustix::fs::fchown(&file, Some(rustix::fs::Uid::from_raw(user.uid)), None)?;
        }
        self.passwords = Some(Passwords { names, at, file });
        self.refresh();
        Ok(self)
    }

    /// Makes the grants of a policy lead to the copies.
    pub fn show(&self, policy: &mut Policy) {
        let copy_of = |grant: &PathGrant| self.copies.iter().find(|copy| is_of(grant, copy.path));
        let shown = policy.replace_hosts(|grant| Ok::<_, Infallible>(copy_of(grant).map(|copy| copy.at.clone())));
        let Ok(()) = shown;
        let shadow = self.passwords.as_ref().map(|passwords| PathGrant {
            host: passwords.at.clone(),
            shape: Shape::Name,
            guest: passwords::SHADOW.to_owned(),
            access: Access::Read,
            source: GrantSource::Need("the profile `manage-users`".to_owned()),
        });
        // Where a policy grants the path itself, there are no passwords.
        if let Some(Err(error)) = shadow.map(|shadow| policy.allow_path(shadow)) {
            tracing::debug!(%error, "failed to show the passwords of named users");
        }
    }

    /// Copies the files that have changed. One that cannot be copied stays as it was.
    pub fn refresh(&mut self) {
        if let Some(Err(error)) = self.passwords.as_mut().map(Passwords::refresh) {
            tracing::debug!(%error, "failed to show the passwords of named users");
        }
        for copy in &mut self.copies {
            if let Err(error) = copy.refresh() {
                tracing::debug!(path = copy.path, %error, "failed to copy a file for a guest again");
            }
        }
    }
}

/// Returns whether a grant is to read a file of the machine, at its own path.
fn is_of(grant: &PathGrant, path: &str) -> bool {
    let is_read = grant.shape == Shape::Name && grant.access == Access::Read;
    is_read && grant.guest == path && Path::new(path).canonicalize().is_ok_and(|real| real == grant.host)
}

impl Passwords {
    fn refresh(&mut self) -> io::Result<()> {
        let lines = passwords::lines_of(&self.names)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&lines)
    }
}

impl Copy {
    fn refresh(&mut self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let from = rustix::fs::open(self.path, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&from)?;
        let found = FileFingerprint::from(&stat);
        let fits = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && base::is_copied(&stat);
        if !fits || self.known == Some(found) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        File::from(from).take(MAX_COPY).read_to_end(&mut bytes)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&bytes)?;
        self.known = Some(found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn text(path: &Path) -> String {
        io::read_to_string(File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn copies_are_those_of_the_machine_and_written_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let mut copies = GuestCopies::make(&["/etc/passwd"], dir.path()).unwrap();
        let at = dir.path().join("passwd");
        let machine = text(Path::new("/etc/passwd"));
        assert_eq!((text(&at), at.metadata().unwrap().permissions().mode() & 0o777), (machine.clone(), 0o644));
        let held = File::open(&at).unwrap();
        // As if the machine's file had changed since.
        copies.copies.iter_mut().for_each(|copy| copy.known = None);
        fs::write(&at, "old\n".repeat(machine.len())).unwrap();
        copies.refresh();
        assert_eq!(io::read_to_string(held).unwrap(), machine, "a guest that has it open sees the change");
        assert!(GuestCopies::make(&["/etc/passwd"], dir.path()).is_err(), "nothing is replaced");
        // A name that leads elsewhere is not followed.
        let other = dir.path().join("other");
        fs::write(&other, "other").unwrap();
        fs::remove_file(&at).unwrap();
        symlink(&other, &at).unwrap();
        copies.copies.iter_mut().for_each(|copy| copy.known = None);
        copies.refresh();
        assert_eq!(text(&other), "other");
    }

    #[test]
    fn files_that_are_read_by_name_at_their_own_paths_have_copies() {
        let real = Path::new("/etc/passwd").canonicalize().unwrap();
        let grant = |guest: &str, host: &Path, shape, access| {
            let source = modbox_vocabulary::GrantSource::named("test");
            PathGrant { host: host.to_owned(), shape, guest: guest.to_owned(), access, source }
        };
        let dir = tempfile::tempdir().unwrap();
        for (grant, is_copied) in [
            (grant("/etc/passwd", &real, Shape::Name, Access::Read), true),
            (grant("/etc/passwd", &real, Shape::Name, Access::Write), false),
            (grant("/etc/passwd", Path::new("/other"), Shape::Name, Access::Read), false),
            (grant("/other", &real, Shape::Name, Access::Read), false),
            (grant("/etc", Path::new("/etc"), Shape::Directory, Access::Read), false),
        ] {
            let mut policy = Policy::default();
            policy.allow_path(grant.clone()).unwrap();
            let needed = GuestCopies::needed(&policy);
            assert_eq!(needed == ["/etc/passwd"], is_copied, "{grant:?}");
            let own = tempfile::tempdir_in(dir.path()).unwrap();
            let copies = GuestCopies::make(&needed, own.path()).unwrap();
            copies.show(&mut policy);
            assert_eq!(policy.paths()[0].host.starts_with(own.path()), is_copied);
        }
    }
}
