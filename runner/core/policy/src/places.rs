//! The places of grants in a guest's file system: which ones belong to the guest, and which ones are inside others.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::access::Access;
use crate::error::PolicyError;
use crate::grants::{PathGrant, Shape};

/// Directories that every guest has. A grant may be inside or around them, but not in their place.
pub const RESERVED: [&str; 2] = ["/args", "/tmp"];

/// The only file in `/args`. A grant must not hide it.
const OWN_ARGS: &str = "/args/args.json";

/// Returns whether this exact place belongs to the guest.
#[must_use]
pub fn is_own(guest: &str) -> bool {
    RESERVED.contains(&guest) || guest == OWN_ARGS
}

/// Returns whether the outer grant already shows the path of the inner grant at the same place. A directory of the guest's own
/// hides what a grant around it would show there.
pub(super) fn lies_in(inner: &PathGrant, outer: &PathGrant) -> bool {
    let is_hidden = |own: &&str| Path::new(&inner.guest).starts_with(own) && !Path::new(&outer.guest).starts_with(own);
    if RESERVED.iter().any(is_hidden) {
        return false;
    }
    let (guest, host) = (Path::new(&inner.guest).strip_prefix(&outer.guest), inner.host.strip_prefix(&outer.host));
    outer.shape == Shape::Directory && guest.is_ok() && guest == host
}

/// Refuses a read grant inside a write grant.
pub(super) fn check_nesting(paths: &[PathGrant]) -> Result<(), PolicyError> {
    let writable: HashMap<&Path, &PathGrant> = paths
        .iter()
        .filter(|grant| grant.access == Access::Write && grant.shape == Shape::Directory)
        .map(|grant| (Path::new(&grant.guest), grant))
        .collect();
    for inner in paths.iter().filter(|grant| grant.access == Access::Read) {
        let around = Path::new(&inner.guest).ancestors().skip(1);
        // A different host path mapped into a writable directory is not part of it.
        if let Some(outer) = around.filter_map(|dir| writable.get(dir)).find(|outer| lies_in(inner, outer)) {
            return Err(PolicyError::ReadInsideWrite {
                inner: inner.guest.clone(),
                inner_source: inner.source.to_string(),
                outer: outer.guest.clone(),
                outer_source: outer.source.to_string(),
            });
        }
    }
    Ok(())
}

/// Resolves `.` and `..` in the text only, without the file system. This suffices to find the grant that a path is
/// meant to be in. The check of the real path happens when it is opened, beneath the granted directory.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
