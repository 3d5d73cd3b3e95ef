//! Places of grants in a guest's file system: which are the guest's own, and which lie in others.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::access::Access;
use crate::error::PolicyError;
use crate::grants::{PathGrant, Shape};

/// Directories that a guest has anyway; a grant may lie inside or around them, not in their place.
pub const RESERVED: [&str; 2] = ["/args", "/tmp"];

/// The one file in `/args`; no grant may hide it.
const OWN_ARGS: &str = "/args/args.json";

/// Returns whether a guest has something of its own in this very place.
#[must_use]
pub fn is_own(guest: &str) -> bool {
    RESERVED.contains(&guest) || guest == OWN_ARGS
}

/// Whether a grant shows what another one shows at the same place anyway.
pub(super) fn lies_in(inner: &PathGrant, outer: &PathGrant) -> bool {
    let (guest, host) = (Path::new(&inner.guest).strip_prefix(&outer.guest), inner.host.strip_prefix(&outer.host));
    outer.shape == Shape::Directory && guest.is_ok() && guest == host
}

/// Refuses a grant for reading inside one for writing.
pub(super) fn check_nesting(paths: &[PathGrant]) -> Result<(), PolicyError> {
    let writable: HashMap<&Path, &PathGrant> = paths
        .iter()
        .filter(|grant| grant.access == Access::Write && grant.shape == Shape::Directory)
        .map(|grant| (Path::new(&grant.guest), grant))
        .collect();
    for inner in paths.iter().filter(|grant| grant.access == Access::Read) {
        let around = Path::new(&inner.guest).ancestors().skip(1);
        // Another host path in a writable directory is no part of it.
        if let Some(outer) = around.filter_map(|dir| writable.get(dir)).find(|outer| lies_in(inner, outer)) {
            return Err(PolicyError::ReadInsideWrite {
                inner: inner.guest.clone(),
                inner_source: inner.source.clone(),
                outer: outer.guest.clone(),
                outer_source: outer.source.clone(),
            });
        }
    }
    Ok(())
}

/// Resolves `.` and `..` by their letters alone. Good enough to ask which grant a path is meant to lie in;
/// what a path really reaches is decided when it is opened, beneath the granted directory.
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
