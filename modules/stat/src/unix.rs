//! What only a Unix host tells: modes, owners, numbers of the file system.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use modbox_sdk::Value;

use crate::entry;

/// The mode bits that have a key of their own.
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

pub(crate) fn describe(metadata: &Metadata) -> Vec<(String, Value)> {
    let kind = metadata.file_type();
    let mut entries = vec![
        entry("mode", format!("{:04o}", metadata.mode() & 0o7777)),
        entry("ischr", kind.is_char_device()),
        entry("isblk", kind.is_block_device()),
        entry("isfifo", kind.is_fifo()),
        entry("issock", kind.is_socket()),
        entry("uid", metadata.uid()),
        entry("gid", metadata.gid()),
        entry("inode", metadata.ino()),
        entry("dev", metadata.dev()),
        entry("nlink", metadata.nlink()),
        entry("ctime", metadata.ctime() as f64 + 1e-9 * metadata.ctime_nsec() as f64),
        entry("blocks", metadata.blocks()),
        entry("block_size", metadata.blksize()),
        entry("device_type", metadata.rdev()),
    ];
    entries.extend(BITS.iter().map(|(key, bit)| entry(key, metadata.mode() & bit != 0)));
    entries
}
