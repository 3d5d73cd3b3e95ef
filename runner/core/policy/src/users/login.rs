//! Looks up a user of this machine with groups, home and shell, in `/etc/passwd` and `/etc/group`.
//!
//! Users of a directory service are not in these files, so they are unknown here. The numbers alone are in `accounts`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use modbox_vocabulary::User;

/// Maximum size of a list in bytes, longer than any list that people maintain.
const MAX_LIST: u64 = 4 << 20;

/// Maximum number of groups of a user, as in the kernel (`NGROUPS_MAX`).
const MAX_GROUPS: usize = 65_536;

/// Number that the kernel takes for "no change" in place of a user or a group.
const NO_CHANGE: u32 = u32::MAX;

/// Shell of a user without one (passwd(5)).
const DEFAULT_SHELL: &[u8] = b"/bin/sh";

/// Finds a user by name, or by number if no user has that name. Returns `None` if this machine's files do not list the
/// user.
///
/// # Errors
///
/// A list cannot be read.
pub fn find_user(written: &str) -> io::Result<Option<User>> {
    Ok(find_in(written, &read("/etc/passwd")?, &read("/etc/group")?))
}

fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_LIST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn find_in(written: &str, passwd: &[u8], group: &[u8]) -> Option<User> {
    let entries = || passwd.split(|byte| *byte == b'\n').filter_map(entry);
    let by_name = entries().find(|user| user.name == written);
    let mut user = by_name.or_else(|| {
        // `parse` would take a sign, too.
        let is_number = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
        let uid: u32 = written.parse().ok().filter(|_| is_number)?;
        entries().find(|user| user.uid == uid)
    })?;
    let more = group.split(|byte| *byte == b'\n').filter_map(|line| group_with(line, &user.name));
    for gid in more.take(MAX_GROUPS - 1) {
        if !user.groups.contains(&gid) {
            user.groups.push(gid);
        }
    }
    Some(user)
}

/// Parses `NAME:PASSWORD:UID:GID:COMMENT:HOME:SHELL` (passwd(5)). Returns `None` for other lines.
fn entry(line: &[u8]) -> Option<User> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
    let [name, _, uid, gid, _, home, shell] = fields.try_into().ok()?;
    let name = str::from_utf8(name).ok().filter(|name| !name.is_empty() && !name.starts_with(['#', '+', '-']))?;
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let (uid, gid) = (number(uid)?, number(gid)?);
    let home = Some(path(home)).filter(|home| home.is_absolute()).unwrap_or_else(|| Path::new("/").to_owned());
    let shell = path(if shell.is_empty() { DEFAULT_SHELL } else { shell });
    Some(User { name: name.to_owned(), uid, gid, groups: vec![gid], home, shell })
}

/// Returns the number of a group that lists a user as a member (group(5)).
fn group_with(line: &[u8], user: &str) -> Option<u32> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
    let [name, _, gid, members] = fields.try_into().ok()?;
    let is_entry = !name.is_empty() && !name.starts_with(b"#");
    let has_member = members.split(|byte| *byte == b',').any(|member| member == user.as_bytes());
    number(gid).filter(|_| is_entry && has_member)
}

fn number(field: &[u8]) -> Option<u32> {
    str::from_utf8(field).ok()?.parse().ok().filter(|number| *number != NO_CHANGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &[u8] = b"root:x:0:0:root:/root:/bin/bash\n#x:x:7:7::/:\napp:x:1000:100:App,,,:/srv/app:\n\
        12:x:2000:2000::home:/bin/false\nworst:x:4294967295:1::/:\nbad:x:1:4294967295::/:\nshort:x:5\n";
    const GROUP: &[u8] = b"users:x:100:\nadm:x:4:root,app\napps:x:300:app\nall:x:4294967295:app\nno:x:5:apple,xapp\n";

    fn check(written: &str, expect: Option<(&str, u32, &[u32], &str, &str)>) {
        let found = find_in(written, PASSWD, GROUP);
        let shown = found.as_ref().map(|user| {
            let (home, shell) = (user.home.to_str().unwrap(), user.shell.to_str().unwrap());
            (user.name.as_str(), user.uid, user.groups.as_slice(), home, shell)
        });
        assert_eq!(shown, expect, "{written}");
    }

    #[test]
    fn users_are_found_by_name_and_by_number() {
        check("root", Some(("root", 0, &[0, 4], "/root", "/bin/bash")));
        check("app", Some(("app", 1000, &[100, 4, 300], "/srv/app", "/bin/sh")));
        check("1000", Some(("app", 1000, &[100, 4, 300], "/srv/app", "/bin/sh")));
        // A name takes precedence over a number.
        check("12", Some(("12", 2000, &[2000], "/", "/bin/false")));
    }

    #[test]
    fn what_the_kernel_would_take_for_no_change_is_not_a_user() {
        for written in
            ["worst", "bad", "4294967295", "#x", "+1000", "-1", "", "short", "7", "99", "app ", "18446744073709551615"]
        {
            check(written, None);
        }
    }
}
