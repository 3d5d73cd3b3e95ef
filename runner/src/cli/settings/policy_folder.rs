//! The folder `policy.d` beside the user's policy file. Its files are policy files that apply to every run, in the order of
//! their names: one for each answer that a person gave for good. Nothing that a person wrote is edited, and removing a
//! file takes the answer back.
//!
//! Only names that end in `.yaml` and do not begin with a dot are read. The number and the size are bounded, since every
//! run reads them.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use crate::cli::process::environment::Environment;
use crate::cli::settings::exposure;

/// Maximum number of files.
pub(crate) const MAX_FILES: usize = 512;

/// Maximum bytes of all files.
const MAX_BYTES: u64 = 4 << 20;

/// Maximum number of entries, with those that are not read.
const MAX_ENTRIES: usize = 4096;

/// Ending of the names of files that are read.
pub(crate) const ENDING: &str = ".yaml";

/// Returns the policy files that apply to every run, in order, also those that do not exist.
///
/// # Errors
///
/// Those of [`files`].
pub(crate) fn implied(environment: &Environment) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = environment.policy_files.clone();
    if let Some(folder) = &environment.policy_folder {
        paths.extend(files(folder)?);
    }
    Ok(paths)
}

/// Returns whether a path is that of a policy file which applies to every run.
pub(crate) fn is_implied(environment: &Environment, path: &Path) -> bool {
    let path = environment.absolute(path);
    let is_in_folder = || environment.policy_folder.as_deref() == path.parent() && is_read(&path);
    environment.policy_files.contains(&path) || is_in_folder()
}

/// Returns the policy files of the folder, in the order of their names; none if there is no such folder.
///
/// # Errors
///
/// The folder cannot be read, another user can change it, or it has too much in it.
pub(crate) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let failed = || format!("failed to read the folder of policy files `{shown}`");
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(failed),
    };
    let (mut paths, mut bytes) = (Vec::new(), 0_u64);
    for (index, entry) in entries.enumerate() {
        ensure!(index < MAX_ENTRIES, "`{shown}` has more than {MAX_ENTRIES} entries; remove some");
        let entry: DirEntry = entry.with_context(failed)?;
        if is_read(&entry.path()) {
            bytes = bytes.saturating_add(entry.path().metadata().map_or(0, |found| found.len()));
            paths.push(entry.path());
        }
    }
    ensure!(
        paths.len() <= MAX_FILES,
        "`{shown}` has more than {MAX_FILES} policy files; move rules into `policy.yaml`, and remove files"
    );
    ensure!(bytes <= MAX_BYTES, "the policy files of `{shown}` have more than {MAX_BYTES} bytes; remove some");
    if !paths.is_empty()
        && let Some(exposure) = exposure::find(folder, &folder.metadata().with_context(failed)?)
    {
        bail!("failed to use the policy files of `{shown}`, which another user can change: {exposure}");
    }
    paths.sort();
    Ok(paths)
}

/// Returns whether the file of this path is read, by its name.
fn is_read(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    !name.starts_with(b".") && name.ends_with(ENDING.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn error(folder: &Path) -> String {
        format!("{:#}", files(folder).unwrap_err())
    }

    #[test]
    fn files_are_read_in_the_order_of_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("policy.d");
        assert!(files(&folder).unwrap().is_empty());
        fs::create_dir(&folder).unwrap();
        for name in ["b.yaml", "a.yaml", ".new.yaml", "a.yaml~", "notes"] {
            fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(files(&folder).unwrap(), [folder.join("a.yaml"), folder.join("b.yaml")]);
    }

    #[test]
    fn a_folder_that_others_can_replace_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("policy.d");
        fs::create_dir(&folder).unwrap();
        set_mode(&folder, 0o777);
        assert!(files(&folder).unwrap().is_empty(), "nothing is used");
        fs::write(folder.join("a.yaml"), "").unwrap();
        assert!(error(&folder).contains("which another user can change"));
        set_mode(&folder, 0o700);
        set_mode(dir.path(), 0o777);
        assert!(error(&folder).contains("which another user can change"));
        let other = tempfile::tempdir().unwrap();
        symlink(&folder, other.path().join("policy.d")).unwrap();
        assert!(error(&other.path().join("policy.d")).contains("which another user can change"));
        set_mode(dir.path(), 0o700);
        assert_eq!(files(&other.path().join("policy.d")).unwrap().len(), 1);
    }

    #[test]
    fn number_and_size_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let big = fs::File::create(dir.path().join("a.yaml")).unwrap();
        big.set_len(MAX_BYTES + 1).unwrap();
        assert!(error(dir.path()).contains("bytes; remove some"));
        big.set_len(0).unwrap();
        for index in 0..MAX_FILES {
            fs::write(dir.path().join(format!("{index}.yaml")), "").unwrap();
        }
        assert!(error(dir.path()).contains("more than 512 policy files"));
        fs::write(dir.path().join("x"), "").unwrap();
        fs::remove_file(dir.path().join("a.yaml")).unwrap();
        assert_eq!(files(dir.path()).unwrap().len(), MAX_FILES);
        fs::remove_dir_all(dir.path().join("none")).unwrap_err();
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(error(&dir.path().join("file")).contains("failed to read the folder"));
    }
}
