//! The home of the user whose run it is: what `HOME` and `~` mean to a module, in its sandbox as under plain Ansible.
//!
//! The name of a home grants nothing in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use modbox_policy::Policy;

/// The variable that names the home of a user.
pub(crate) const HOME: &str = "HOME";

/// Bytes of `/etc/passwd` that are read; more than any machine has.
const MAX_PASSWD: u64 = 4 << 20;

/// Returns the home that an environment names, or else that of this process's user, as Python's `expanduser` does. `None` for a
/// user that the machine does not list.
pub(crate) fn of(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let named = environment.iter().find(|(name, value)| name == HOME && !value.is_empty());
    named.map(|(_, home)| PathBuf::from(home)).or_else(|| {
        let uid = rustix::process::getuid().as_raw().to_string();
        home_in(&passwd()?, |_, other| other == uid)
    })
}

/// Returns the home of the user whose run it is: that of the policy, else of this process with its environment.
pub(crate) fn of_run(environment: &[(OsString, OsString)], policy: &Policy) -> Option<PathBuf> {
    policy.user().map_or_else(|| of(environment), |user| Some(user.home.clone()))
}

/// Returns the home of a user by name.
pub(crate) fn of_user(user: &str) -> Option<PathBuf> {
    home_in(&passwd()?, |name, _| name == user)
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
    fn homes_are_looked_up_by_name_and_number() {
        let passwd = "short:x\nroot:x:0:0:root:/r:/bin/sh\nuser:x:1000:1000::/u:/bin/sh\nodd:x:7:7::odd:/bin/sh\n";
        assert_eq!(home_in(passwd, |name, _| name == "user"), Some("/u".into()));
        assert_eq!(home_in(passwd, |_, uid| uid == "0"), Some("/r".into()));
        assert_eq!(home_in(passwd, |name, _| name == "odd"), None);
        assert_eq!(home_in(passwd, |name, _| name == "short"), None);
    }
}
