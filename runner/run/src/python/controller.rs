//! The folders of ansible-core's controller half that a component of plugins was made from, and whether their files are still the
//! same.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Maximum depth of folders in a package.
const MAX_DEPTH: usize = 32;

/// The folders that a component of plugins is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerPackages {
    /// The package `ansible`.
    pub(super) ansible: PathBuf,
    /// The packages that it needs, by name, each with its folder.
    pub packages: Vec<(String, PathBuf)>,
}

impl ControllerPackages {
    /// Returns a mark that is another one after a file was changed, added or removed. It reads no contents: this is done before
    /// each play with plugins.
    #[must_use]
    pub fn mark(&self) -> String {
        let mut hash = Sha256::new();
        add_folder(&mut hash, &self.ansible, 0);
        self.packages.iter().for_each(|(_, folder)| add_folder(&mut hash, folder, 0));
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Adds the sources below a folder, in the order of their names: name, length and time of the last change.
fn add_folder(hash: &mut Sha256, folder: &Path, depth: usize) {
    hash.update(folder.as_os_str().as_encoded_bytes());
    hash.update([0]);
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Modules do not belong to it.
            if depth < MAX_DEPTH && name != "__pycache__" && !(depth == 0 && name == "modules") {
                add_folder(hash, &path, depth + 1);
            }
        } else if path.extension().is_some_and(|extension| extension == "py" || extension == "yml")
            && let Ok(file) = fs::metadata(&path)
        {
            hash.update(name.as_encoded_bytes());
            hash.update([0]);
            for number in [file.len().cast_signed(), file.mtime(), file.mtime_nsec()] {
                hash.update(number.to_le_bytes());
            }
        }
    }
}

/// Returns the minor version of Python 3 that a Python has, by the name of its program or of its folder of packages, without
/// starting it. `package` is one that it imports.
pub(crate) fn minor_version(python: &Path, package: &Path) -> Option<u32> {
    let of_name = |name: &std::ffi::OsStr| name.to_str()?.strip_prefix("python3.")?.parse().ok();
    let program = python.canonicalize().unwrap_or_else(|_| python.to_owned());
    program.file_name().and_then(of_name).or_else(|| package.iter().rev().find_map(of_name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_change_makes_another_mark() {
        let dir = tempfile::tempdir().unwrap();
        let (ansible, yaml) = (dir.path().join("ansible"), dir.path().join("yaml"));
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("ansible/release.py", "");
        write("yaml/__init__.py", "");
        let found = ControllerPackages { ansible, packages: vec![("yaml".to_owned(), yaml)] };
        let first = found.mark();
        write("ansible/modules/ping.py", "");
        assert_eq!(found.mark(), first, "modules do not belong to it");
        write("yaml/loader.py", "");
        let second = found.mark();
        write("yaml/loader.py", "x");
        let third = found.mark();
        write("ansible/config/base.yml", "");
        assert!(first != second && second != third && third != found.mark());
    }

    #[test]
    fn the_version_is_read_from_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("python3.13");
        fs::write(&named, "").unwrap();
        let link = dir.path().join("python3");
        symlink(&named, &link).unwrap();
        let nowhere = Path::new("/opt/lib/python3.9/site-packages/ansible");
        assert_eq!(minor_version(&link, nowhere), Some(13));
        assert_eq!(minor_version(Path::new("/none/python3"), nowhere), Some(9));
        assert_eq!(
            minor_version(Path::new("/none/python3"), Path::new("/usr/lib/python3/dist-packages/ansible")),
            None
        );
    }
}
