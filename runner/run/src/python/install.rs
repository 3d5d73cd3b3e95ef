//! Finds the installed ansible-core and its Python interpreter.
//!
//! It looks at files alone; no program is started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use modbox_kinds::ansiballz::Core;

use crate::python::disk::read_bounded;
use crate::python::error::PythonError;

/// Bytes of `release.py` that are read; it has a kilobyte.
const MAX_RELEASE: u64 = 64 << 10;

/// An installed ansible-core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Install {
    /// The package `ansible`.
    pub(super) root: PathBuf,
    /// Version and author.
    pub(super) core: Core,
}

impl Install {
    /// Reads the package `ansible` at a path, if it is there.
    pub(super) fn at(root: &Path) -> Result<Option<Self>, PythonError> {
        let release = root.join("release.py");
        if !release.is_file() || !root.join("module_utils/basic.py").is_file() {
            return Ok(None);
        }
        let read = read_bounded(&release, MAX_RELEASE);
        let bytes = read.map_err(|source| PythonError::Read { path: release, source })?;
        let text = String::from_utf8_lossy(&bytes);
        let value = |name: &str| {
            let assigned = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))?;
            let assigned = assigned.trim();
            let quote = assigned.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            assigned[1..].split(quote).next().map(str::to_owned)
        };
        let version = value("__version__").unwrap_or_default();
        let author = value("__author__").unwrap_or_default();
        Ok(Some(Self { root: root.to_owned(), core: Core { version, author } }))
    }

    /// Returns the package `ansible` that a file lies in.
    pub(super) fn around(path: &Path) -> Result<Option<Self>, PythonError> {
        for folder in path.ancestors().filter(|folder| folder.file_name() == Some(OsStr::new("ansible"))) {
            if let Some(install) = Self::at(folder)? {
                return Ok(Some(install));
            }
        }
        Ok(None)
    }

    /// Returns the first package `ansible` in folders like `site-packages`.
    pub(super) fn first_in(folders: &[PathBuf]) -> Result<Option<Self>, PythonError> {
        for folder in folders {
            if let Some(install) = Self::at(&folder.join("ansible"))? {
                return Ok(Some(install));
            }
        }
        Ok(None)
    }

    /// Returns the oldest Python that modules of this release run with, as ansible-core documents for targets.
    pub(super) fn least_python(&self) -> [u32; 2] {
        let mut numbers = self.core.version.split('.').map_while(|number| number.parse::<u32>().ok());
        match (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) {
            (0..=1, _) | (2, 0..=12) => [2, 6],
            (2, 13..=16) => [2, 7],
            (2, 17) => [3, 7],
            (2, 18..=19) => [3, 8],
            _ => [3, 9],
        }
    }
}

/// Returns the interpreter of the `ansible` command in `PATH`, which Ansible itself uses for modules on its own
/// machine.
pub(super) fn controllers_python(search_path: &[PathBuf]) -> Option<PathBuf> {
    let command = find_program("ansible", search_path)?;
    let head = read_bounded(&command, 4096).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = str::from_utf8(line).ok()?.split_whitespace().next()?;
    let python = Path::new(word);
    let is_python = python.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    (python.is_absolute() && is_python && is_program(python)).then(|| python.to_owned())
}

/// Returns the `site-packages` folders next to an interpreter, and those of the user and the system.
pub(super) fn site_folders(python: Option<&Path>, home: Option<&Path>) -> Vec<PathBuf> {
    let mut folders = python.map(own_site_folders).unwrap_or_default();
    if let Some(home) = home {
        push_versions(&mut folders, &home.join(".local/lib"), "site-packages");
    }
    push_versions(&mut folders, Path::new("/usr/local/lib"), "dist-packages");
    push_versions(&mut folders, Path::new("/usr/local/lib"), "site-packages");
    folders.push(PathBuf::from("/usr/lib/python3/dist-packages"));
    push_versions(&mut folders, Path::new("/usr/lib"), "site-packages");
    folders
}

/// Returns the `site-packages` folders next to an interpreter.
pub(super) fn own_site_folders(python: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(prefix) = python.parent().and_then(Path::parent) {
        push_versions(&mut folders, &prefix.join("lib"), "site-packages");
    }
    folders
}

/// Adds the folders `lib/python3.*/NAME`, the newest version first.
fn push_versions(folders: &mut Vec<PathBuf>, lib: &Path, name: &str) {
    let minor = |path: &Path| path.file_name()?.to_str()?.strip_prefix("python3.")?.parse::<u32>().ok();
    let entries = fs::read_dir(lib).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut versions: Vec<(u32, PathBuf)> = entries.filter_map(|path| Some((minor(&path)?, path.join(name)))).collect();
    versions.sort_by_key(|(minor, _)| std::cmp::Reverse(*minor));
    folders.extend(versions.into_iter().map(|(_, folder)| folder).filter(|folder| folder.is_dir()));
}

/// Finds a program as a shell would.
pub(super) fn find_program(name: &str, search_path: &[PathBuf]) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    search_path.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_python_follows_from_the_release() {
        for (version, floor) in [
            ("2.9.27", [2, 6]),
            ("2.14.18", [2, 7]),
            ("2.17.0", [3, 7]),
            ("2.19.14", [3, 8]),
            ("2.20.0b1", [3, 9]),
            ("", [2, 6]),
        ] {
            let core = Core { version: version.to_owned(), author: String::new() };
            assert_eq!(Install { root: PathBuf::new(), core }.least_python(), floor, "{version}");
        }
    }

    #[test]
    fn an_installation_is_found_by_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("ansible");
        fs::create_dir_all(root.join("module_utils")).unwrap();
        fs::create_dir_all(root.join("modules/ansible")).unwrap();
        assert_eq!(Install::at(&root).unwrap(), None);
        fs::write(root.join("module_utils/basic.py"), "").unwrap();
        fs::write(root.join("release.py"), "# x\n__version__ = \"2.19.14\"\n__author__ = 'A, Inc.'\n").unwrap();
        let install = Install::around(&root.join("modules/ansible/ping.py")).unwrap().unwrap();
        assert_eq!(
            (install.root, install.core.version, install.core.author),
            (root, "2.19.14".into(), "A, Inc.".into())
        );
    }
}
