//! Roles and collections that are linked into a folder of such, as their authors do it: the folder has a link to the place where they
//! work on them.
//!
//! Only folders that the operator named or that are installed are looked at. Links of a play are judged where its tree is opened.

use std::path::{Path, PathBuf};

/// Folders of a role, one of which a role has.
const PARTS: [&str; 4] = ["tasks", "meta", "defaults", "handlers"];

/// How many entries are looked at. Few folders of roles have a hundred.
const MAX_ENTRIES: usize = 5000;

/// Returns the links in a folder of roles or collections that lead out of it, to a role or a collection.
pub(super) fn linked_sources(folder: &Path) -> Vec<PathBuf> {
    if folder.ends_with("ansible_collections") {
        return modbox_run::linked_collections(folder);
    }
    let Ok(found) = std::fs::read_dir(folder) else { return Vec::new() };
    let entries = found.flatten().map(|entry| entry.path()).take(MAX_ENTRIES);
    let is_role = |path: &PathBuf| PARTS.iter().any(|part| path.join(part).is_dir());
    entries.filter(|path| path.is_symlink() && is_role(path)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_roles_and_collections_are_found_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for folder in ["roles/own/tasks", "work/tasks", "other/files", "c/ansible_collections/a", "col/plugins"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        for (target, link) in [
            ("work", "roles/linked"),
            ("other", "roles/no_role"),
            ("gone", "roles/broken"),
            ("col", "c/ansible_collections/a/b"),
        ] {
            symlink(path.join(target), path.join(link)).unwrap();
        }
        assert_eq!(linked_sources(&path.join("roles")), [path.join("roles/linked")]);
        let collections = path.join("c/ansible_collections");
        assert_eq!(linked_sources(&collections), [collections.join("a/b")]);
        assert!(linked_sources(&path.join("none")).is_empty());
    }
}
