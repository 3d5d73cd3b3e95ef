//! Finds what other processes have changed since a layer was made.
//!
//! A path that a commit touches must be as the list of changes has it before: same type, attributes, size and time, and
//! a status change that is older than the layer. A tree that is taken away is walked. This file does not change
//! anything, and does not check what a module has read.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, Stat, StatxAttributes, StatxFlags};

use crate::changes::change::{Entry, EntryType};

use super::failure::{Context, Failure, Why};
use super::inode::{self, Inode, look, status_changed};
use super::journal::Below;
use super::payload_copy::MAX_DEPTH;
use super::plan::{Reason, Refusal};

/// Largest step of a clock that times of files are made with, in nanoseconds.
const TICK: i128 = 10_000_000;

pub(super) fn check_free(dir: impl AsFd, name: &OsStr, path: &Path) -> Result<(), Failure> {
    match look(dir, name).context("look at", path)? {
        Some(_) => Err(Failure::conflict(path, Why::Taken)),
        None => Ok(()),
    }
}

/// Checks that an entry is as it was before, with all below it. Returns its state.
pub(super) fn check_entry(
    dir: impl AsFd,
    name: &OsStr,
    path: &Path,
    before: &Entry,
    since: i128,
) -> Result<Inode, Failure> {
    let stat = look(&dir, name).context("look at", path)?.ok_or_else(|| Failure::conflict(path, Why::Gone))?;
    if is_mount_point(&dir, name).context("look at", path)? {
        return Err(Failure::Refused(Refusal { path: path.to_path_buf(), reason: Reason::Mount }));
    }
    check_time(&stat, since, path)?;
    let found = Inode::of(&stat);
    if !is_as(&found, before) {
        return Err(Failure::conflict(path, Why::Changed));
    }
    if found.is_directory() {
        check_below(dir, name, path, since)?;
    }
    Ok(found)
}

/// Returns whether another file system is mounted there. Numbers of devices do not tell: in an overlay, a file can have
/// another one than its directory.
fn is_mount_point(dir: impl AsFd, name: &OsStr) -> rustix::io::Result<bool> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let found = rustix::fs::statx(dir, name, flags, StatxFlags::empty())?;
    Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn is_as(found: &Inode, before: &Entry) -> bool {
    let is_file = before.entry_type == EntryType::File;
    found.entry_type() == before.entry_type
        && (found.uid, found.gid) == (before.uid, before.gid)
        && (before.entry_type == EntryType::Symlink || found.mode & 0o7777 == before.mode & 0o7777)
        && (!is_file || found.size == before.size)
        && (before.entry_type == EntryType::Directory || found.modified() == before.modified)
}

/// Checks that the last status change is older than the layer.
fn check_time(stat: &Stat, since: i128, path: &Path) -> Result<(), Failure> {
    let changed = status_changed(stat);
    if changed < since {
        return Ok(());
    }
    let why = if changed.saturating_sub(since) < TICK { Why::Moment } else { Why::Changed };
    Err(Failure::conflict(path, why))
}

/// Checks that all entries below a directory are older than the layer. Other entries have none below.
pub(super) fn check_below(dir: impl AsFd, name: &OsStr, path: &Path, since: i128) -> Result<(), Failure> {
    let summary = summarize(dir, name, path)?;
    if summary.entries == 0 || i128::from(summary.newest) < since {
        return Ok(());
    }
    Err(Failure::conflict(path, Why::ChangedBelow))
}

/// Returns the summary of all entries below a directory. Other entries have none below.
pub(super) fn summarize(dir: impl AsFd, name: &OsStr, path: &Path) -> Result<Below, Failure> {
    let mut summary = Below::default();
    walk(dir, name, path, MAX_DEPTH, &mut summary)?;
    Ok(summary)
}

fn walk(dir: impl AsFd, name: &OsStr, path: &Path, depth: usize, summary: &mut Below) -> Result<(), Failure> {
    let Some(stat) = look(&dir, name).context("look at", path)? else { return Ok(()) };
    if !Inode::of(&stat).is_directory() {
        return Ok(());
    }
    if depth == 0 {
        return Err(Failure::Refused(Refusal { path: path.to_path_buf(), reason: Reason::Depth }));
    }
    let opened = inode::open_entry(dir, name).context("open", path)?;
    for below in inode::names(&opened).context("list", path)? {
        let below_path = path.join(&below);
        // It was removed since it was listed, and the directory has a new time.
        let Some(found) = look(&opened, &below).context("look at", &below_path)? else { continue };
        if is_mount_point(&opened, &below).unwrap_or(false) {
            return Err(Failure::Refused(Refusal { path: below_path, reason: Reason::Mount }));
        }
        summary.entries += 1;
        let changed = i64::try_from(status_changed(&found)).unwrap_or(i64::MAX);
        summary.newest = summary.newest.max(changed);
        walk(&opened, &below, &below_path, depth - 1, summary)?;
    }
    Ok(())
}
