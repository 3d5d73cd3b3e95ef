//! The entries of Ansible's `stat` and `find` that come from a file's attributes: its mode, owners and numbers.

use modbox_python_json::Value;

use crate::platform::{Attributes, Special};

/// The bits of a mode that have keys of their own.
const BITS: [(&str, u32); 11] = [
    ("wusr", 0o200),
    ("rusr", 0o400),
    ("xusr", 0o100),
    ("wgrp", 0o020),
    ("rgrp", 0o040),
    ("xgrp", 0o010),
    ("woth", 0o002),
    ("roth", 0o004),
    ("xoth", 0o001),
    ("isuid", 0o4000),
    ("isgid", 0o2000),
];

/// The kinds of files that have keys of their own, beside the common ones.
const SPECIAL: [(&str, Special); 4] = [
    ("isblk", Special::BlockDevice),
    ("ischr", Special::CharacterDevice),
    ("isfifo", Special::Fifo),
    ("issock", Special::Socket),
];

impl Attributes {
    /// Returns the entries of Ansible's `stat` and `find` that these attributes tell.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, Value)> {
        let entry = |key: &str, value: Value| (key.to_owned(), value);
        let mut entries = vec![
            entry("mode", format!("{:04o}", self.mode).into()),
            entry("uid", self.uid.into()),
            entry("gid", self.gid.into()),
            entry("inode", self.inode.into()),
            entry("dev", self.device.into()),
            entry("nlink", self.links.into()),
        ];
        entries.extend(BITS.map(|(key, bit)| entry(key, (self.mode & bit != 0).into())));
        entries.extend(SPECIAL.map(|(key, special)| entry(key, (self.special == Some(special)).into())));
        let names = [("pw_name", &self.user), ("gr_name", &self.group)];
        entries.extend(names.into_iter().filter_map(|(key, name)| Some(entry(key, name.as_deref()?.into()))));
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_names_of_ansible() {
        let entries = crate::files::stat("/dev/null", true).unwrap().entries();
        let value = |key: &str| entries.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        assert_eq!(value("ischr"), Some(Value::Bool(true)));
        assert_eq!(value("isblk"), Some(Value::Bool(false)));
        assert_eq!((value("mode"), value("xoth")), (Some(Value::from("0666")), Some(Value::Bool(false))));
        assert_eq!(value("pw_name"), Some(Value::from("root")));
    }
}
