//! The folders with the modules that controllers have sent to this user: below the cache folder, or below `/var/tmp` if
//! the home is full or cannot be written.
//!
//! After `sudo`, `HOME` may still be that of the login user, and so may the cache folder. What another user can write must
//! not run with this user's rights, so the folder is then below this user's own home.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use modbox_cleanup::Cleanup;
use modbox_fleet::module_digest::ModuleDigest;
use modbox_fleet::modules::KeptModules;
use modbox_policy::find_user;

use crate::cli::process::environment::Environment;

/// Name of the folder below the cache folder.
const NAME: &str = "fleet";

/// Names of folders below the cache folder that the action plugin writes, on hosts and on the controller.
const COPIES: [&str; 2] = ["runners", "shipments"];

/// Folder of a user whose home cannot be written.
const SHARED: &str = "/var/tmp";

/// Returns the bytes of a module that is kept in one of the folders.
///
/// # Errors
///
/// A folder cannot be read.
pub(crate) fn get(environment: &Environment, module: ModuleDigest) -> anyhow::Result<Option<Vec<u8>>> {
    for folder in candidates(environment).into_iter().filter(|folder| folder.is_dir()) {
        // A folder that cannot be used holds nothing that may run.
        let Ok(modules) = KeptModules::open(folder) else { continue };
        if let Some(bytes) = modules.get(module)? {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Keeps a module in the first folder that takes it.
///
/// # Errors
///
/// None takes it; the error names each with its cause.
pub(crate) fn put(environment: &Environment, bytes: &[u8], cleanup: &Cleanup) -> anyhow::Result<()> {
    let mut causes = Vec::new();
    for folder in candidates(environment) {
        match KeptModules::open(folder.clone()).and_then(|modules| modules.put(bytes, cleanup)) {
            Ok(_) => return Ok(()),
            Err(error) => causes.push(format!("`{}`: {}", folder.display(), modbox_vocabulary::error_chain(&error))),
        }
    }
    bail!("failed to keep the module: {}; make room in one of these folders", causes.join("; "))
}

/// Removes the modules of this user, and the copies of modbox that controllers have sent or that were made to be sent.
/// Returns the number of removed files.
///
/// # Errors
///
/// A folder cannot be read, or a file cannot be removed.
pub(crate) fn clear(environment: &Environment) -> anyhow::Result<u64> {
    let mut removed = 0;
    for folder in candidates(environment).into_iter().filter(|folder| folder.is_dir()) {
        removed += KeptModules::open(folder)?.clear()?;
    }
    let uid = rustix::process::geteuid().as_raw();
    let below_cache = environment.cache_dir.iter().flat_map(|cache| COPIES.map(|name| cache.join(name)));
    let shared = Path::new(SHARED).join(format!("modbox-runners-{uid}"));
    for folder in below_cache.chain([shared]).filter(|folder| folder.is_dir() && is_of(folder, uid)) {
        for entry in folder.read_dir().with_context(|| format!("failed to read `{}`", folder.display()))?.flatten() {
            let path = entry.path();
            std::fs::remove_file(&path).with_context(|| format!("failed to remove `{}`", path.display()))?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn candidates(environment: &Environment) -> Vec<PathBuf> {
    candidates_of(rustix::process::geteuid().as_raw(), environment)
}

fn candidates_of(uid: u32, environment: &Environment) -> Vec<PathBuf> {
    let own = environment.cache_dir.clone().filter(|folder| is_of(folder, uid));
    let home = find_user(&uid.to_string()).ok().flatten().map(|user| user.home.join(".cache/modbox"));
    let below_cache = own.into_iter().chain(home.filter(|folder| is_of(folder, uid)));
    let mut folders: Vec<PathBuf> = below_cache.map(|folder| folder.join(NAME)).collect();
    folders.dedup();
    folders.push(Path::new(SHARED).join(format!("modbox-{NAME}-{uid}")));
    folders
}

/// Says whether what exists of a path is this user's.
fn is_of(path: &Path, uid: u32) -> bool {
    let existing = path.ancestors().find_map(|folder| folder.metadata().ok());
    existing.is_some_and(|folder| folder.uid() == uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_user_is_not_used() {
        let cache = tempfile::tempdir().unwrap();
        let mut environment = Environment::of_process().unwrap();
        environment.cache_dir = Some(cache.path().join("modbox"));
        let uid = rustix::process::geteuid().as_raw();
        let expect = cache.path().join("modbox/fleet");
        assert_eq!(candidates_of(uid, &environment).first(), Some(&expect));
        // A user without a home, such as one whose entry was removed.
        let other = 4_000_000_001;
        assert_eq!(candidates_of(other, &environment), [PathBuf::from(format!("/var/tmp/modbox-fleet-{other}"))]);
    }
}
