//! Attributes that only a Unix host provides.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use modbox_sdk::Value;

use crate::entry::entry;

pub(crate) fn describe(metadata: &Metadata) -> Vec<(String, Value)> {
    let kind = metadata.file_type();
    vec![
        entry("ischr", kind.is_char_device()),
        entry("isblk", kind.is_block_device()),
        entry("isfifo", kind.is_fifo()),
        entry("issock", kind.is_socket()),
        entry("ctime", metadata.ctime() as f64 + 1e-9 * metadata.ctime_nsec() as f64),
        entry("blocks", metadata.blocks()),
        entry("block_size", metadata.blksize()),
        entry("device_type", metadata.rdev()),
    ]
}
