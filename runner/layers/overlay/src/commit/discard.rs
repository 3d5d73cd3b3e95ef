//! Removes temporaries and trees that a commit has taken away.
//!
//! Each tree has a name of ours or was renamed to one, so that other processes do not use it. This file does not decide
//! what is removed.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use rustix::io::{Errno, Result};

use super::disk_calls::DiskCalls;
use super::inode::{self, look};
use super::payload_copy::MAX_DEPTH;
use super::plan::TEMPORARY_PREFIX;

/// Removes an entry with all below it. One that does not exist is removed already.
pub(super) fn remove_tree(calls: DiskCalls<'_>, dir: impl AsFd, name: &OsStr) -> Result<()> {
    // A tree that was looked at before was less deep; one that others deepen meanwhile is left.
    remove_below(calls, dir, name, 2 * MAX_DEPTH)
}

fn remove_below(calls: DiskCalls<'_>, dir: impl AsFd, name: &OsStr, depth: usize) -> Result<()> {
    match calls.remove_file(&dir, name) {
        Err(Errno::ISDIR) => {}
        removed => return or_absent(removed),
    }
    let Some(stat) = look(&dir, name)? else { return Ok(()) };
    if depth == 0 {
        return Err(Errno::NAMETOOLONG);
    }
    if stat.st_mode & 0o700 != 0o700 {
        // Its owner may list and empty it only with these rights.
        calls.open_up(&dir, name)?;
    }
    let opened = inode::open_entry(&dir, name)?;
    for below in inode::names(&opened)? {
        remove_below(calls, &opened, &below, depth - 1)?;
    }
    drop(opened);
    or_absent(calls.remove_directory(dir, name))
}

/// Removes all temporaries of a transaction in a directory.
pub(super) fn sweep(calls: DiskCalls<'_>, dir: impl AsFd, run: &str) -> Result<()> {
    let prefix = format!("{TEMPORARY_PREFIX}{run}-");
    for name in inode::names_that(&dir, |name| name.as_bytes().starts_with(prefix.as_bytes()))? {
        remove_tree(calls, &dir, &name)?;
    }
    Ok(())
}

fn or_absent(result: Result<()>) -> Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}
