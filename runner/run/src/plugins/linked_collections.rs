//! Collections that are linked into a folder of collections, as their authors do it: the whole collection, its namespace, or the
//! folders of plugins and roles in it.
//!
//! Only folders that the operator named or that are installed are looked at. Links of a play are judged where its tree is opened.

use std::path::{Path, PathBuf};

/// Folders of a collection that links may stand for.
const PARTS: [&str; 3] = ["plugins", "roles", "playbooks"];

/// How many entries are looked at. A full installation of Ansible's community package has 300.
const MAX_ENTRIES: usize = 5000;

/// Returns the folders outside of a folder `ansible_collections` that links of namespaces and collections in it lead to.
pub(super) fn behind_links(folder: &Path) -> Vec<PathBuf> {
    let mut targets: Vec<PathBuf> = links(folder).into_iter().map(|(_, target)| target).collect();
    targets.sort();
    targets.dedup();
    targets
}

/// Returns the links of namespaces, collections and their parts in a folder `ansible_collections` that lead out of it.
#[must_use]
pub fn linked_collections(folder: &Path) -> Vec<PathBuf> {
    links(folder).into_iter().map(|(link, _)| link).collect()
}

/// Returns the links of namespaces and collections in a folder `ansible_collections` that lead out of it, each with the folder that
/// it leads to.
pub(super) fn links(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(own) = folder.canonicalize() else { return Vec::new() };
    // A link can lead to what is around this folder, which has no collections.
    let is_inside = |path: &PathBuf| path.canonicalize().is_ok_and(|real| !own.starts_with(real));
    let namespaces: Vec<PathBuf> = entries(folder).into_iter().filter(is_inside).collect();
    let collections: Vec<PathBuf> =
        namespaces.iter().flat_map(|namespace| entries(namespace)).filter(is_inside).take(MAX_ENTRIES).collect();
    let parts = collections.iter().flat_map(|collection| PARTS.map(|part| collection.join(part)));
    let candidates = namespaces.iter().cloned().chain(collections.iter().cloned()).chain(parts);
    let links = candidates.filter(|path| path.is_symlink());
    let with_targets = links.filter_map(|path| path.canonicalize().ok().map(|target| (path, target)));
    let leads_out =
        |(_, target): &(PathBuf, PathBuf)| target.is_dir() && !target.starts_with(&own) && !own.starts_with(target);
    with_targets.filter(leads_out).collect()
}

/// Lists the folders in a folder, and links to folders.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = std::fs::read_dir(folder) else { return Vec::new() };
    found.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).take(MAX_ENTRIES).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_collections_and_of_their_parts_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let folder = path.join("c/ansible_collections");
        for made in ["c/ansible_collections/a/own/plugins", "c/ansible_collections/a/parts", "whole/plugins", "plugins"]
        {
            std::fs::create_dir_all(path.join(made)).unwrap();
        }
        symlink(path.join("whole"), folder.join("a/whole")).unwrap();
        symlink("../../../../plugins", folder.join("a/parts/plugins")).unwrap();
        symlink("../own/plugins", folder.join("a/parts/roles")).unwrap();
        symlink("/", folder.join("root")).unwrap();
        assert_eq!(behind_links(&folder), [path.join("plugins"), path.join("whole")]);
        let whole = links(&folder).into_iter().find(|(_, target)| *target == path.join("whole"));
        assert_eq!(whole.map(|(link, _)| link), Some(folder.join("a/whole")));
        assert!(behind_links(&path.join("none")).is_empty());
    }
}
