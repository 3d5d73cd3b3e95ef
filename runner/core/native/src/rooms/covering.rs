//! Directories of a room's own that lie over those of the machine: what a grant around them does not show.
//!
//! Without namespaces there is no room, and nothing is covered.

use std::path::Path;

use modbox_policy::PathGrant;

/// Directories of the room's own.
const COVERING: [&str; 2] = ["/tmp", "/dev"];

/// Returns whether a grant around a path shows it in a room, where no directory of the room's own lies over it.
pub(crate) fn shows(grant: &PathGrant, path: &Path) -> bool {
    COVERING.iter().all(|own| !path.starts_with(own) || Path::new(&grant.guest).starts_with(own))
}
