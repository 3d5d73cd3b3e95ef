//! What confines a worker process, as far as the kernel can tell: its walls. Runs whose grants differ only in what the kernel does not
//! know share a worker. The guard of the file system in it has the exact grants of each run.
//!
//! The kernel knows no names in a folder: a process that may write one of them gets the rights to change the folder
//! ([`modbox_kernel::Rights::Names`]). And it knows nothing of a name that is granted for reading and at which nothing lies. So 200
//! tasks that copy to 200 names in one folder have the same walls.

use std::path::PathBuf;

use modbox_policy::{Access, PathGrant, Policy, Shape, SingleFiles};

use crate::batch::places::{GrantedPlaces, Identity, Place};

/// The walls of a worker.
#[derive(Debug, PartialEq, Eq)]
pub struct Walls {
    /// The policy without the names that the kernel does not know.
    policy: Policy,
    /// What the rest of its grants leads to.
    places: Vec<Place>,
    /// The folders of such names that are granted for writing.
    folders: Vec<(PathBuf, Identity)>,
    /// The number of grants, on which a limit of the process depends.
    count: usize,
    /// The size of the largest file at such a name that is granted for writing, on which another limit depends.
    largest: u64,
}

impl Walls {
    /// Finds the walls of runs with a policy, whose grants lead to these places.
    #[must_use]
    pub fn of(policy: &Policy, places: &GrantedPlaces) -> Self {
        let count = policy.paths().len();
        // Commands are run with the policy of the worker, and files that stand in for others have rules of their own.
        let is_exact =
            policy.allows_everything() || policy.allows_commands() || *policy.single_files() != SingleFiles::default();
        let pairs = policy.paths().iter().zip(places.all());
        let (free, known): (Vec<_>, Vec<_>) = pairs.partition(|(grant, place)| !is_exact && is_free(grant, place));
        let written = || free.iter().filter(|(grant, _)| grant.access == Access::Write);
        let folder = |(grant, place): &(&PathGrant, &Place)| Some((grant.host.parent()?.to_owned(), place.parent?));
        let mut folders: Vec<_> = written().filter_map(folder).collect();
        folders.sort();
        folders.dedup();
        let size = |(grant, _): &(&PathGrant, &Place)| grant.host.symlink_metadata().map_or(0, |found| found.len());
        let largest = written().map(size).max().unwrap_or_default();
        let policy = if is_exact {
            policy.clone()
        } else {
            let mut each = places.all().iter();
            policy.clone().without_paths(|grant| each.next().is_some_and(|place| is_free(grant, place)))
        };
        let places = known.into_iter().map(|(_, place)| *place).collect();
        Self { policy, places, folders, count, largest }
    }
}

/// Says whether the kernel has no rule for a name alone: what lies there is looked up in its folder, or nothing is there.
fn is_free(grant: &PathGrant, place: &Place) -> bool {
    grant.shape == Shape::Name && place.found.is_none() && (grant.access == Access::Read || place.parent.is_some())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use modbox_vocabulary::GrantSource;

    use super::*;

    fn walls(grants: &[(&Path, Shape, Access)]) -> Walls {
        let mut policy = Policy::default();
        for (host, shape, access) in grants {
            let (host, guest) = (host.to_path_buf(), host.display().to_string());
            let source = GrantSource::named("a test");
            policy.allow_path(PathGrant { host, shape: *shape, guest, access: *access, source }).unwrap();
        }
        let places = GrantedPlaces::of(&policy);
        Walls::of(&policy, &places)
    }

    #[test]
    fn names_that_are_written_in_one_folder_have_the_same_walls() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b, there, other] = ["a", "b", "there", "other"].map(|name| dir.path().join(name));
        fs::write(&there, "").unwrap();
        fs::create_dir(&other).unwrap();
        let inner = other.join("a");
        let write = |path: &Path| walls(&[(path, Shape::Name, Access::Write)]);
        assert_eq!(write(&a), write(&b));
        assert_eq!(write(&a), write(&there));
        // A longer file has a higher limit of the length of files.
        fs::write(&there, "long").unwrap();
        assert_ne!(write(&a), write(&there));
        fs::write(&there, "").unwrap();
        assert_ne!(write(&a), write(&inner));
        // A folder that lies at the name is open itself.
        assert_ne!(write(&a), write(&other));
        assert_ne!(write(&a), walls(&[(&a, Shape::Name, Access::Write), (&b, Shape::Name, Access::Write)]));
        let with = |path: &Path, access| {
            walls(&[
                (path, Shape::Name, Access::Write),
                (&there, Shape::Name, access),
                (&other, Shape::Directory, access),
            ])
        };
        assert_eq!(with(&a, Access::Read), with(&b, Access::Read));
        assert_ne!(with(&a, Access::Read), with(&a, Access::Write));
    }

    #[test]
    fn names_that_are_read_have_the_same_walls_while_nothing_lies_there() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b, there] = ["a", "b", "there"].map(|name| dir.path().join(name));
        fs::write(&there, "").unwrap();
        let read = |path: &Path| walls(&[(path, Shape::Name, Access::Read)]);
        assert_eq!(read(&a), read(&b));
        assert_ne!(read(&a), read(&there));
        assert_ne!(read(&a), walls(&[(&a, Shape::Name, Access::Write)]));
    }
}
