//! The owners that files had before a run, around what it has changed. A commit may give them without a grant.

use std::collections::BTreeSet;
use std::path::Path;

use modbox_policy::KnownOwners;

use crate::layered::execution::ObservedLayers;

/// Maximum number of directories that are looked at.
const MAX_DIRECTORIES: usize = 1024;

/// Collects the owners of what has changed, and of the entries beside it.
pub(crate) fn known_owners(observed: &ObservedLayers) -> KnownOwners {
    let mut known = KnownOwners::default();
    let mut directories = BTreeSet::new();
    for (layer, list) in observed.layers.iter().zip(&observed.lists) {
        for change in &list.changes {
            if let Some(entry) = &change.before {
                known.add(entry.uid, entry.gid);
            }
            let path = layer.path().join(&change.path);
            if directories.len() < MAX_DIRECTORIES {
                directories.extend(path.parent().map(Path::to_owned));
            }
        }
    }
    directories.iter().for_each(|directory| known.add_directory(directory));
    known
}
