//! Finds the files of providers: `DIR/providers/*.prov` in each data directory, and components there. Folders below
//! are not searched.

use std::path::{Path, PathBuf};

use modbox_kinds::detect::kind_of_name;

use crate::reports::error::provider_error::ProviderError;

/// Folder of providers in a data directory.
const FOLDER: &str = "providers";

/// Entries of one folder that are looked at.
const MAX_ENTRIES: usize = 4096;

/// Providers of all folders.
const MAX_PROVIDERS: usize = 512;

/// Returns the files that may be providers, by directory and name, and the folders that cannot be read. A directory
/// that does not exist has none.
#[must_use]
pub fn provider_files(data_dirs: &[PathBuf]) -> (Vec<PathBuf>, Vec<ProviderError>) {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for dir in data_dirs {
        let path = dir.join(FOLDER);
        match path.read_dir() {
            Ok(entries) => {
                let paths = entries.take(MAX_ENTRIES).flatten().map(|entry| entry.path());
                let mut found: Vec<PathBuf> = paths.filter(|path| is_candidate(path)).collect();
                found.sort();
                files.extend(found);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => problems.push(ProviderError::Folder { path, source }),
        }
    }
    files.truncate(MAX_PROVIDERS);
    (files, problems)
}

/// Returns whether a path is that of a regular file with the name of a provider or of a component. Links are followed.
fn is_candidate(path: &Path) -> bool {
    let is_component = || path.extension().is_some_and(|extension| extension == "wasm");
    (kind_of_name(path).is_some() || is_component()) && path.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_found_by_name_in_the_order_of_directories() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["a/providers/sub", "b/providers/dir.prov", "c"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "a/providers/z.prov",
            "a/providers/b.prov",
            "a/providers/b.yaml",
            "a/providers/sub/x.prov",
            "b/providers/c.wasm",
            "a/other.prov",
        ] {
            fs::write(at(file), "").unwrap();
        }
        symlink(at("a/providers/z.prov"), at("b/providers/link.prov")).unwrap();
        symlink("missing", at("b/providers/dangling.prov")).unwrap();
        fs::write(at("d"), "").unwrap();
        let (files, problems) = provider_files(&[at("b"), at("a"), at("c"), at("none"), at("d")]);
        let expect =
            ["b/providers/c.wasm", "b/providers/link.prov", "a/providers/b.prov", "a/providers/z.prov"].map(at);
        assert_eq!(files, expect);
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
}
