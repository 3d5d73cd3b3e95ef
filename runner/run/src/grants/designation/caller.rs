//! Resolves relative paths and `~` as the caller means them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of `/etc/passwd` that are read; more than any machine has.
const MAX_PASSWD: u64 = 4 << 20;

/// Caller of the run: its directory, its environment, and the kind of its module.
pub(crate) struct Caller<'a> {
    /// Working directory of the caller.
    pub(crate) directory: &'a Path,
    /// Environment of the caller.
    pub(crate) environment: &'a [(OsString, OsString)],
    /// Whether the run is of a native module.
    pub(crate) is_native: bool,
}

impl Caller<'_> {
    /// Returns the absolute path that the caller means; `None` for the home of an unknown user.
    pub(super) fn absolute(&self, path: &str) -> Option<PathBuf> {
        let Some(after) = path.strip_prefix('~') else { return Some(self.directory.join(path)) };
        let (user, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
        let home = self.home(user)?;
        Some(self.directory.join(home.join(rest.trim_start_matches('/'))))
    }

    fn home(&self, user: &str) -> Option<PathBuf> {
        if !user.is_empty() {
            return home_in(&passwd()?, |name, _| name == user);
        }
        let own = self.environment.iter().find(|(name, value)| name == "HOME" && !value.is_empty());
        if let Some((_, home)) = own {
            return Some(PathBuf::from(home));
        }
        let uid = rustix::process::getuid().as_raw().to_string();
        home_in(&passwd()?, |_, other| other == uid)
    }
}

/// Returns the text of `/etc/passwd`. It lacks the users of a directory service.
fn passwd() -> Option<String> {
    let mut bytes = Vec::new();
    File::open("/etc/passwd").ok()?.take(MAX_PASSWD).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn home_in(passwd: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    let fields = |line: &str| {
        let fields: Vec<String> = line.split(':').map(str::to_owned).collect();
        (fields.len() == 7).then_some(fields)
    };
    let of_user = passwd.lines().filter_map(fields).find(|fields| wanted(&fields[0], &fields[2]));
    of_user.map(|fields| PathBuf::from(OsStr::new(&fields[5]))).filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_mean_what_the_caller_means() {
        let environment = [("HOME".into(), "/h".into())];
        let caller = Caller { directory: Path::new("/cwd"), environment: &environment, is_native: false };
        for (path, expect) in [
            ("/a", Some("/a")),
            ("a/b", Some("/cwd/a/b")),
            ("~", Some("/h")),
            ("~/x", Some("/h/x")),
            ("a/~", Some("/cwd/a/~")),
            ("~no such user/x", None),
        ] {
            assert_eq!(caller.absolute(path), expect.map(PathBuf::from), "{path}");
        }
    }

    #[test]
    fn homes_are_looked_up_by_name_and_number() {
        let passwd = "short:x\nroot:x:0:0:root:/r:/bin/sh\nuser:x:1000:1000::/u:/bin/sh\nodd:x:7:7::odd:/bin/sh\n";
        assert_eq!(home_in(passwd, |name, _| name == "user"), Some("/u".into()));
        assert_eq!(home_in(passwd, |_, uid| uid == "0"), Some("/r".into()));
        assert_eq!(home_in(passwd, |name, _| name == "odd"), None);
        assert_eq!(home_in(passwd, |name, _| name == "short"), None);
    }
}
