//! How much of a folder belongs to a play that lies in it.
//!
//! A play of another person is read as data until its tasks are granted something, so its tree must hold no more than a project:
//! not the keys and dot files of the person who runs it, and not the whole home folder that the play was saved in.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use crate::cli::play::private_keys::{HEAD, has_private_key};

/// The folders that Ansible searches beside a playbook, and those of a role.
const SEARCHED: [&str; 23] = [
    "action_plugins",
    "become_plugins",
    "callback_plugins",
    "collections",
    "connection_plugins",
    "defaults",
    "files",
    "filter_plugins",
    "group_vars",
    "handlers",
    "host_vars",
    "inventories",
    "inventory",
    "library",
    "lookup_plugins",
    "meta",
    "module_utils",
    "playbooks",
    "roles",
    "tasks",
    "templates",
    "test_plugins",
    "vars",
];

/// How much of a folder belongs to a play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it: the policy grants the folder.
    Granted,
    /// All but private keys: a folder of roles or collections.
    Sources,
    /// The folder of a project: all but private keys and dot files beside the folders that Ansible searches.
    Project,
    /// A folder that holds more than a project, such as a home folder: the folders that Ansible searches.
    Shared,
}

impl Extent {
    /// Returns how much of a playbook's folder belongs to the play. `home` is the caller's.
    pub(crate) fn of_project(folder: &Path, home: Option<&Path>) -> Self {
        let is_home = home.and_then(|home| home.canonicalize().ok()).is_some_and(|home| home == folder)
            || folder.parent() == Some(Path::new("/home"))
            || ["/", "/home", "/root"].iter().any(|shared| folder == Path::new(shared));
        if is_home || is_shared_directory(folder) { Self::Shared } else { Self::Project }
    }

    /// Returns why a path beneath the folder does not belong to the play.
    pub(crate) fn left_out(self, rest: &Path) -> Option<&'static str> {
        if matches!(self, Self::Granted | Self::Sources) {
            return None;
        }
        let names = rest.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        });
        let names: Vec<_> = names.collect();
        let is_searched = names.first().is_some_and(|first| SEARCHED.contains(&first.as_ref()));
        match self {
            _ if is_searched || names.is_empty() => None,
            Self::Shared => Some(
                "of the folder of the playbook, which is not that of a project, only those that Ansible searches belong to the play",
            ),
            _ if names.iter().any(|name| name.starts_with('.')) => Some("a dot file does not belong to the play"),
            _ => None,
        }
    }

    /// Returns why the content of a file does not belong to the play. `file` is at its start, and is read.
    pub(crate) fn forbids_content(self, file: impl Read) -> std::io::Result<Option<&'static str>> {
        if self == Self::Granted {
            return Ok(None);
        }
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head)?;
        Ok(has_private_key(&head).then_some("it has a private key in it, which does not belong to the play by itself"))
    }
}

/// Returns whether every user can make files in a folder, as in `/tmp`.
fn is_shared_directory(folder: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    folder.metadata().is_ok_and(|found| found.mode() & OTHERS_WRITE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_play_is_told_from_what_lies_beside_it() {
        let left_out = |extent: Extent, path: &str| extent.left_out(Path::new(path)).is_some();
        for (path, of_project, of_shared) in [
            (".", true, true),
            ("files", true, true),
            ("files/.bashrc", true, true),
            ("roles/web/templates/.env.j2", true, true),
            ("index.html", true, false),
            ("conf/nginx.conf", true, false),
            ("Documents/secret", true, false),
            (".ssh/id_rsa", false, false),
            (".env", false, false),
            ("conf/.env", false, false),
            ("filesystem", true, false),
        ] {
            assert_eq!(!left_out(Extent::Project, path), of_project, "{path}");
            assert_eq!(!left_out(Extent::Shared, path), of_shared, "{path}");
            assert!(!left_out(Extent::Sources, path) && !left_out(Extent::Granted, path));
        }
    }

    #[test]
    fn home_folders_hold_more_than_a_project() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        assert_eq!(Extent::of_project(&home, Some(&home)), Extent::Shared);
        let project = home.join("project");
        std::fs::create_dir(&project).unwrap();
        assert_eq!(Extent::of_project(&project, Some(&home)), Extent::Project);
        for shared in ["/", "/home", "/home/a", "/root", "/tmp"] {
            assert_eq!(Extent::of_project(Path::new(shared), None), Extent::Shared, "{shared}");
        }
    }

    #[test]
    fn private_keys_belong_to_a_play_by_a_grant_alone() {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl";
        let forbidden = |extent: Extent, head: &str| extent.forbids_content(head.as_bytes()).unwrap().is_some();
        for extent in [Extent::Sources, Extent::Project, Extent::Shared] {
            assert!(forbidden(extent, key) && !forbidden(extent, "text"), "{extent:?}");
        }
        assert!(!forbidden(Extent::Granted, key));
    }
}
