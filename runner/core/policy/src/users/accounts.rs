//! The users and groups of this machine, from `/etc/passwd` and `/etc/group`.
//!
//! Both files are read once and completely, because a process that is confined to run a guest can no longer open them.
//! Users and groups of a directory service are not in them and are written as numbers.

use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

/// Maximum size of a list in bytes, longer than any list that people maintain.
const MAX_LIST: u64 = 4 << 20;

/// The users and groups of a machine.
#[derive(Debug, Default)]
pub struct Accounts {
    users: List,
    groups: List,
}

/// Names with their numbers.
#[derive(Debug, Default)]
pub struct List(Vec<(String, u32)>);

static HOST: OnceLock<Accounts> = OnceLock::new();

impl Accounts {
    /// Returns the accounts of this machine. An unreadable list counts as empty.
    pub fn host() -> &'static Self {
        HOST.get_or_init(Self::of_now)
    }

    /// Reads the accounts that this machine has now: a run can have made some. An unreadable list counts as empty.
    #[must_use]
    pub fn of_now() -> Self {
        Self { users: List::read("/etc/passwd"), groups: List::read("/etc/group") }
    }

    /// Returns the users.
    #[must_use]
    pub fn users(&self) -> &List {
        &self.users
    }

    /// Returns the groups.
    #[must_use]
    pub fn groups(&self) -> &List {
        &self.groups
    }
}

impl List {
    fn read(path: &str) -> Self {
        let mut bytes = Vec::new();
        match File::open(path).and_then(|file| file.take(MAX_LIST).read_to_end(&mut bytes)) {
            Ok(_) => Self::parse(&String::from_utf8_lossy(&bytes)),
            Err(error) => {
                tracing::debug!(path, %error, "failed to read the names of users and groups");
                Self::default()
            }
        }
    }

    /// Parses `NAME:PASSWORD:NUMBER:…` on each line and skips other lines (passwd(5), group(5)).
    fn parse(text: &str) -> Self {
        let entry = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with(['#', '+', '-']))?;
            Some((name.to_owned(), fields.nth(1)?.parse().ok()?))
        };
        Self(text.lines().filter_map(entry).collect())
    }

    /// Returns the number of a name.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<u32> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, id)| *id)
    }

    /// Returns the first name with a number.
    #[must_use]
    pub fn name(&self, id: u32) -> Option<&str> {
        self.0.iter().find(|(_, other)| *other == id).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_that_are_entries() {
        let list = List::parse(
            "root:x:0:0:root:/root:/bin/sh\n# no:x:7:\n+nis:x:8:\n\nbad\ndata:x:many:\ntoor:x:0:\nwww:*:33:",
        );
        assert_eq!((list.id("root"), list.id("www"), list.id("toor")), (Some(0), Some(33), Some(0)));
        assert_eq!(
            (list.id("# no"), list.id("+nis"), list.id("data"), list.id("bad"), list.id("")),
            (None, None, None, None, None)
        );
        assert_eq!((list.name(0), list.name(33), list.name(1)), (Some("root"), Some("www"), None));
    }

    #[test]
    fn this_machine_has_a_root() {
        assert_eq!(Accounts::host().users().name(0), Some("root"));
        assert_eq!(Accounts::host().groups().id("root"), Some(0));
    }
}
