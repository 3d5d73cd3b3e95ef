//! Finds paths that a guest has made in its own `/tmp` under names that it meant on the machine.
//!
//! A path that an argument names is not granted if its directory is missing on the machine. Below `/tmp` a guest that
//! first makes the directory makes both in its own `/tmp`, where they are lost.

use std::path::Path;

use modbox_policy::{MissingPath, Policy};
use modbox_scratch::RunDir;
use modbox_vocabulary::LostChange;

/// The guest's temporary directory.
const TMP: &str = "/tmp";

/// Returns the paths that exist only in the guest's `/tmp`.
pub(super) fn find(policy: &Policy, run_dir: &RunDir) -> Vec<LostChange> {
    if policy.allows_everything() {
        return Vec::new();
    }
    let mut below = policy.missing().iter().filter(|missing| Path::new(&missing.first).starts_with(TMP)).peekable();
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
