//! Owners that a run may give to files without a grant: those that the directory of a file and the entries in it have already.
//!
//! What may write the directory could write those files, move them, and put others in their places, so such an owner is no
//! more than it has. Programs that replace a file by a new one give it the owner of the old one. The rule is the same for
//! guests, native modules, previews and commits.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::users::own::Owners;

/// Maximum number of entries of a directory whose owners are looked at.
const MAX_ENTRIES: usize = 4096;

/// Users and groups that own files.
#[derive(Debug, Clone, Default)]
pub struct KnownOwners {
    users: BTreeSet<u32>,
    groups: BTreeSet<u32>,
}

impl KnownOwners {
    /// Adds the owners of a file.
    pub fn add(&mut self, user: u32, group: u32) {
        self.users.insert(user);
        self.groups.insert(group);
    }

    /// Adds the owners of a directory and of the entries in it, as far as this process sees them. Links are not followed.
    pub fn add_directory(&mut self, directory: &Path) {
        let entries = directory.read_dir().into_iter().flatten().flatten().take(MAX_ENTRIES);
        let found = entries.filter_map(|entry| entry.metadata().ok()).chain(directory.metadata());
        found.for_each(|found| self.add(found.uid(), found.gid()));
    }

    /// Returns whether a file's owner may be changed to a user and a group, with grants. `None` leaves that one unchanged.
    #[must_use]
    pub fn or_granted(&self, owners: &Owners, user: Option<u32>, group: Option<u32>) -> bool {
        let user = user.filter(|user| !self.users.contains(user));
        let group = group.filter(|group| !self.groups.contains(group));
        owners.cover(user, group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_known_or_granted() {
        let mut known = KnownOwners::default();
        known.add(33, 4);
        let owners = Owners::Some(Vec::new());
        for (user, group, expect) in [
            (None, None, true),
            (Some(33), Some(4), true),
            (Some(33), Some(5), false),
            (Some(5), None, false),
            (None, Some(4), true),
        ] {
            assert_eq!(known.or_granted(&owners, user, group), expect, "{user:?} {group:?}");
        }
        assert!(known.or_granted(&Owners::Any, Some(5), Some(5)));
    }

    #[test]
    fn a_directory_and_its_entries_have_owners() {
        let directory = Path::new("/proc/self");
        let mut known = KnownOwners::default();
        known.add_directory(directory);
        let found = directory.metadata().map(|found| (found.uid(), found.gid())).unwrap_or_default();
        assert!(known.or_granted(&Owners::Some(Vec::new()), Some(found.0), Some(found.1)));
    }
}
