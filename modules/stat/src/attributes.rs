//! Modes, owners and numbers, on a Unix host and in a component on a host with `modbox:host/files`.

use modbox_sdk::Value;
use modbox_sdk::files::Attributes;

use crate::entry::entry;

/// The mode bits with keys of their own.
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

pub(crate) fn describe(found: &Attributes) -> Vec<(String, Value)> {
    let mut entries = vec![
        entry("mode", format!("{:04o}", found.mode)),
        entry("uid", found.uid),
        entry("gid", found.gid),
        entry("inode", found.inode),
        entry("dev", found.device),
        entry("nlink", found.links),
    ];
    entries.extend(BITS.iter().map(|(key, bit)| entry(key, found.mode & bit != 0)));
    entries.extend(found.user.as_deref().map(|name| entry("pw_name", name)));
    entries.extend(found.group.as_deref().map(|name| entry("gr_name", name)));
    entries
}
