//! Resolves relative paths and `~` as the caller means them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::home;

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
        if user.is_empty() { home::of(self.environment) } else { home::of_user(user) }
    }
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
}
