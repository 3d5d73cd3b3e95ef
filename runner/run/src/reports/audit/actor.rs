//! The user and process that run modbox, as the kernel knows them. Nothing here comes from the environment, which that
//! user can set.

use std::fs::File;
use std::io::Read;

use modbox_python_json::{Dict, Value};
use rustix::process;

/// Bytes of `/etc/passwd` that are read; more than on any machine that keeps its users in that file.
const MAX_PASSWD: u64 = 1 << 20;

/// Login user of a process that no login started.
const NO_LOGIN: u32 = u32::MAX;

/// User, login, process and host that run modbox.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    uid: u32,
    euid: u32,
    /// User that logged in: the kernel keeps it through `sudo` and `su`.
    login_uid: Option<u32>,
    user: Option<String>,
    login: Option<String>,
    pid: i32,
    host: Option<String>,
}

impl Actor {
    /// Returns the identity of this process: from the kernel, with names from `/etc/passwd`.
    pub(super) fn of_process() -> Self {
        let uid = process::getuid().as_raw();
        let login_uid = read("/proc/self/loginuid", 64).and_then(|text| text.trim().parse().ok());
        let login_uid = login_uid.filter(|uid| *uid != NO_LOGIN);
        let passwd = read("/etc/passwd", MAX_PASSWD).unwrap_or_default();
        Self {
            uid,
            euid: process::geteuid().as_raw(),
            login_uid,
            user: name(&passwd, uid),
            login: login_uid.and_then(|uid| name(&passwd, uid)),
            pid: process::getpid().as_raw_nonzero().get(),
            host: read("/proc/sys/kernel/hostname", 256).map(|text| text.trim_end().to_owned()),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        let text = |text: &Option<String>| Value::from(text.as_deref());
        let entries: Dict = [
            ("uid", Value::from(u64::from(self.uid))),
            ("euid", u64::from(self.euid).into()),
            ("user", text(&self.user)),
            ("login_uid", self.login_uid.map(u64::from).into()),
            ("login", text(&self.login)),
            ("pid", i64::from(self.pid).into()),
            ("host", text(&self.host)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect();
        Value::Dict(entries)
    }
}

fn read(path: &str, limit: u64) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Finds a user's name in the text of `/etc/passwd`.
fn name(passwd: &str, uid: u32) -> Option<String> {
    let uid = uid.to_string();
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n# 7\nshort:x\na:x:10:1::/:\nb:x:1:10::/:\n";
        assert_eq!(name(passwd, 0).as_deref(), Some("root"));
        assert_eq!(name(passwd, 1).as_deref(), Some("b"));
        assert_eq!(name(passwd, 7), None);
    }
}
