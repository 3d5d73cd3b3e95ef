//! The files of an installed ansible-core that modules are run with, for the statement by which its operator vouches for them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use modbox_closure::Part;
use modbox_kinds::ansiballz::MAX_SOURCE;

use crate::modules::closure::powershell_parts::script_name;
use crate::modules::powershell;
use crate::modules::summary::package_version;
use crate::python::{PythonConfig, ansible_package, read_bounded};

/// Folders with such files, and the endings of their names.
const FOLDERS: [(&str, &[&str]); 2] =
    [("module_utils", &["py", "ps1", "psm1", "cs"]), ("plugins/doc_fragments", &["py"])];

/// Folder of the scripts that start PowerShell modules.
const WRAPPERS: &str = "executor/powershell";

/// List of trusted scripts.
const SIGNATURES: &str = "config/powershell_signatures.psd1";

/// Maximum number of files; a release has two hundred.
const MAX_FILES: usize = 2000;

/// Maximum depth of folders.
const MAX_DEPTH: usize = 12;

/// The files of an ansible-core that modules are run with.
#[derive(Debug)]
pub struct CoreFiles {
    /// The version of ansible-core, such as `2.19.14`.
    pub release: String,
    /// Its files by their names below `ansible/`, and its scripts for PowerShell, each with its digest.
    pub parts: Vec<Part>,
}

/// Error of a folder that is not an ansible-core, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CoreFilesError {
    /// There is no ansible-core.
    #[error("failed to find ansible-core; name its folder with `--ansible-core=PATH/site-packages/ansible`")]
    None,
    /// The folder is another one.
    #[error("`{}` is not the folder `ansible` of an ansible-core", .0.display())]
    Other(PathBuf),
    /// There are too many files.
    #[error("`{}` has more than {MAX_FILES} files, or folders deeper than {MAX_DEPTH}", .0.display())]
    TooMany(PathBuf),
    /// A file cannot be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl CoreFiles {
    /// Reads the files of the ansible-core that modules on this machine are run with.
    ///
    /// # Errors
    ///
    /// There is none, or a file cannot be read.
    pub fn find(config: &PythonConfig, interpreter: Option<&str>, directory: &Path) -> Result<Self, CoreFilesError> {
        let package = ansible_package(config, Path::new(""), interpreter, directory);
        Self::of(&package.ok_or(CoreFilesError::None)?)
    }

    /// Reads the files of the ansible-core in a folder.
    ///
    /// # Errors
    ///
    /// It is another folder, or a file cannot be read.
    pub fn of(package: &Path) -> Result<Self, CoreFilesError> {
        let release = package_version(package);
        if release.is_empty() || !package.join("module_utils/basic.py").is_file() {
            return Err(CoreFilesError::Other(package.to_owned()));
        }
        let mut files = Vec::new();
        for (folder, endings) in FOLDERS {
            list(package, &package.join(folder), endings, 0, &mut files)?;
        }
        let mut parts = Vec::with_capacity(files.len());
        for name in files {
            let path = package.join(&name);
            parts.push(Part::of(format!("ansible/{name}"), &read(&path)?));
        }
        let mut wrappers = Vec::new();
        if package.join(WRAPPERS).is_dir() {
            list(package, &package.join(WRAPPERS), &["ps1"], MAX_DEPTH, &mut wrappers)?;
        }
        for name in wrappers.iter().filter_map(|name| name.rsplit('/').next()) {
            let path = package.join(WRAPPERS).join(name);
            let script = powershell::wrapper(package, name);
            let script = script.map_err(|error| CoreFilesError::Read { path, source: io::Error::other(error) })?;
            parts.push(Part::of(script_name(name), &script));
        }
        let signatures = package.join(SIGNATURES);
        if signatures.is_file() {
            parts.push(Part::of(format!("ansible/{SIGNATURES}"), &read(&signatures)?));
        }
        Ok(Self { release, parts })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CoreFilesError> {
    read_bounded(path, MAX_SOURCE + 1).map_err(|source| CoreFilesError::Read { path: path.to_owned(), source })
}

/// Lists the files with these endings in a folder and below it, by their paths below `package`.
fn list(
    package: &Path,
    folder: &Path,
    endings: &[&str],
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), CoreFilesError> {
    let failed = |source| CoreFilesError::Read { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        if kind.is_dir() && depth < MAX_DEPTH {
            list(package, &path, endings, depth + 1, found)?;
        }
        let is_listed = path.extension().is_some_and(|ending| endings.iter().any(|listed| ending == *listed));
        if kind.is_file() && is_listed {
            let name = path.strip_prefix(package).ok().and_then(Path::to_str);
            found.extend(name.map(str::to_owned));
        }
        if found.len() > MAX_FILES {
            return Err(CoreFilesError::TooMany(package.to_owned()));
        }
    }
    Ok(())
}
