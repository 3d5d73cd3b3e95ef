//! The user whose rights bound a run, where it is another one than the user who runs modbox.
//!
//! Plain data: `policy` looks a user up, and `kernel` makes a process that of the user.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::native_path;

/// A user of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Login name, as in `/etc/passwd`.
    pub name: String,
    /// Number of the user, as in `/etc/passwd`.
    pub uid: u32,
    /// Number of the primary group.
    pub gid: u32,
    /// Numbers of all groups, the primary one included.
    pub groups: Vec<u32>,
    /// Home directory.
    #[serde(with = "native_path")]
    pub home: PathBuf,
    /// Shell of a login.
    #[serde(with = "native_path")]
    pub shell: PathBuf,
}

impl User {
    /// Returns the variables of the environment that describe the user, as a login sets them.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, &OsStr); 4] {
        let name = OsStr::new(&self.name);
        [("HOME", self.home.as_os_str()), ("USER", name), ("LOGNAME", name), ("SHELL", self.shell.as_os_str())]
    }

    /// Returns an environment in which these variables are the user's.
    #[must_use]
    pub fn environment(&self, environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let own = self.variables();
        let others = environment.iter().filter(|(name, _)| own.iter().all(|(other, _)| name != other)).cloned();
        others.chain(own.map(|(name, value)| (name.into(), value.to_owned()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_describes_the_user_and_keeps_the_rest() {
        let user = User {
            name: "app".to_owned(),
            uid: 1000,
            gid: 100,
            groups: vec![100, 4],
            home: "/home/app".into(),
            shell: "/bin/sh".into(),
        };
        let before = [("HOME", "/root"), ("STAGE", "test"), ("USER", "root")].map(|(n, v)| (n.into(), v.into()));
        let expect =
            [("STAGE", "test"), ("HOME", "/home/app"), ("USER", "app"), ("LOGNAME", "app"), ("SHELL", "/bin/sh")];
        assert_eq!(user.environment(&before), expect.map(|(n, v)| (OsString::from(n), OsString::from(v))));
        let sent = serde_json::to_string(&user).unwrap();
        assert_eq!(serde_json::from_str::<User>(&sent).unwrap(), user);
    }
}
