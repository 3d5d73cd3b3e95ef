//! Finds paths that a guest has made and that do not reach the machine: in its own `/tmp` under names that it meant on the
//! machine, and beside granted names.
//!
//! A path that an argument names is not granted if its directory is missing on the machine. Below `/tmp` a guest that
//! first makes the directory makes both in its own `/tmp`, where they are lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use modbox_policy::{Access, path_option};
use modbox_policy::{MissingPath, Policy};
use modbox_scratch::RunDir;
use modbox_vocabulary::LostChange;

/// The guest's temporary directory.
const TMP: &str = "/tmp";

/// Returns the paths of files that a guest has made beside granted names and left there. They are removed at the end of the
/// run.
pub(super) fn left(paths: &[PathBuf]) -> Vec<LostChange> {
    let lost = |path: &PathBuf| {
        let allow = path_option(Access::Write, path.parent().unwrap_or(path));
        let reason = format!(
            "nothing grants it, and a file that is made beside a granted one is removed at the end of the run unless it \
             takes its place; allow it with `{allow}`"
        );
        LostChange { path: path.to_string_lossy().into_owned(), reason, allow }
    };
    paths.iter().map(lost).collect()
}

/// Entries of `/tmp` that are looked at; a caller is told of fewer.
const MAX_LEFT: usize = 256;

/// Returns what a guest has left in its own `/tmp`, in order. What leads to granted paths is not the guest's.
pub(super) fn left_in_tmp(policy: &Policy, run_dir: &RunDir) -> Vec<String> {
    if policy.allows_everything() {
        return Vec::new();
    }
    let entries = run_dir.used_tmp().map(std::fs::read_dir).into_iter().flatten();
    let names = entries.flatten().flatten().map(|entry| entry.file_name());
    let is_own = |path: &PathBuf| !policy.paths().iter().any(|grant| Path::new(&grant.guest).starts_with(path));
    let left: BTreeSet<PathBuf> = names.map(|name| Path::new(TMP).join(name)).filter(is_own).take(MAX_LEFT).collect();
    left.into_iter().map(|path| path.display().to_string()).collect()
}

/// Returns the paths that exist only in the guest's `/tmp`.
pub(super) fn find(policy: &Policy, run_dir: &RunDir) -> Vec<LostChange> {
    if policy.allows_everything() {
        return Vec::new();
    }
    let mut below = policy.missing().filter(|missing| Path::new(&missing.first).starts_with(TMP)).peekable();
    if below.peek().is_none() {
        return Vec::new();
    }
    let Ok(tmp) = run_dir.tmp() else { return Vec::new() };
    let is_made = |missing: &&MissingPath| {
        let below = Path::new(&missing.first).strip_prefix(TMP);
        below.is_ok_and(|below| tmp.join(below).symlink_metadata().is_ok())
    };
    below.filter(is_made).map(MissingPath::to_lost).collect()
}
