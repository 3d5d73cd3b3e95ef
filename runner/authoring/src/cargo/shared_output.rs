//! The folder of compiled crates that projects with the carried SDK share, so that the second project builds quickly.
//!
//! Only cargo writes there. Programs stay in each project's own target folder.
//!
//! Cargo tells the packages of a workspace apart by name and by their place in the workspace, and judges by modification
//! times whether one has changed. Two projects of one name would therefore get each other's program. So the first
//! workspace with a package name claims the name, and another one with that name shares nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use crate::cargo::package::Package;
use crate::environment;
use crate::sdk;

/// Variable of cargo for the folder. Cargo has it since 1.91; an older one does not know it, and shares nothing.
pub(crate) const VARIABLE: &str = "CARGO_BUILD_BUILD_DIR";

/// Returns the folder for a workspace, or `None` if the workspace must not share, or the author chose another folder.
pub(crate) fn claim(cache: Option<&Path>, env: &BTreeMap<OsString, OsString>, package: &Package) -> Option<PathBuf> {
    if !package.is_whole || environment::chooses_output(env) {
        return None;
    }
    let root = folder(cache?);
    let folder = root.join(sdk::DIGEST);
    let claims = folder.join("claims");
    DirBuilder::new().recursive(true).mode(0o700).create(&claims).ok()?;
    // Crates that another user can change must not become part of a module.
    if ![&root, &folder, &claims].iter().all(|path| sdk::is_own_folder(path)) {
        return None;
    }
    package.members.iter().all(|name| claim_name(&claims.join(name), &package.workspace_root)).then_some(folder)
}

/// Claims a name for a workspace. A link is made at once, so that two processes never both succeed.
fn claim_name(claim: &Path, root: &Path) -> bool {
    symlink(root, claim).is_ok() || fs::read_link(claim).is_ok_and(|owner| owner == root)
}

/// Returns the folder in modbox's cache folder.
fn folder(cache: &Path) -> PathBuf {
    cache.join("build")
}

/// Removes the folder in modbox's cache folder. Returns the number of removed files.
///
/// # Errors
///
/// The folder cannot be removed.
pub fn clear_shared_output(cache: &Path) -> io::Result<u64> {
    let folder = folder(cache);
    let count = files_below(&folder);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(count),
    }
}

fn files_below(folder: &Path) -> u64 {
    let (mut count, mut pending) = (0, vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                _ => count += 1,
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(root: &str, members: &[&str], is_whole: bool) -> Package {
        Package {
            binary: "p".to_owned(),
            manifest: Path::new(root).join("Cargo.toml"),
            workspace_root: root.into(),
            sdk: None,
            members: members.iter().map(|&name| name.to_owned()).collect(),
            is_whole,
            outside: Vec::new(),
            made: Vec::new(),
        }
    }

    #[test]
    fn the_first_workspace_with_a_name_shares() {
        let cache = tempfile::tempdir().unwrap();
        let shares = |root, members: &[&str]| {
            claim(Some(cache.path()), &BTreeMap::new(), &package(root, members, true)).is_some()
        };
        assert!(shares("/a", &["one"]));
        assert!(shares("/b", &["two"]));
        assert!(!shares("/c", &["one"]), "the name belongs to another workspace");
        assert!(!shares("/c", &["three", "two"]));
        assert!(shares("/a", &["one", "four"]));
    }

    #[test]
    fn a_workspace_with_unknown_packages_shares_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let claim = |env, is_whole| claim(Some(cache.path()), &env, &package("/a", &["one"], is_whole));
        assert_eq!(claim(BTreeMap::new(), false), None);
        for name in [VARIABLE, "CARGO_TARGET_DIR"] {
            assert_eq!(claim([(name.into(), "/mine".into())].into(), true), None, "{name}");
        }
    }

    #[test]
    fn a_folder_that_others_can_change_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let cache = tempfile::tempdir().unwrap();
        let shares = || claim(Some(cache.path()), &BTreeMap::new(), &package("/a", &["one"], true));
        let shared = shares().unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(shares(), None);
    }

    #[test]
    fn clearing_removes_only_the_folder() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(clear_shared_output(cache.path()).unwrap(), 0);
        fs::create_dir_all(cache.path().join("build/modbox/deps")).unwrap();
        fs::write(cache.path().join("build/modbox/deps/a"), "").unwrap();
        fs::write(cache.path().join("other"), "").unwrap();
        assert_eq!(clear_shared_output(cache.path()).unwrap(), 1);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
