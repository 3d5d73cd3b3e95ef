//! Paths that match a pattern, as Python's `glob.glob` finds them, in the folders that a play may read.
//!
//! `**` is `*`: Ansible does not search folders recursively either.

use std::path::Path;

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_tasks::files::{FileError, FileKind, PlayFiles};

/// Maximum number of paths that a pattern may lead to.
const MAX_PATHS: usize = 100_000;

/// Returns the regular files that match an absolute pattern, sorted.
///
/// # Errors
///
/// A folder on the way may not be read, or the pattern leads to too many paths.
pub(crate) fn files(tree: &dyn PlayFiles, pattern: &str) -> Result<Vec<String>, FileError> {
    let mut paths = vec![String::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if part.contains(['*', '?', '[']) {
            paths = matching(tree, &paths, part)?;
        } else {
            paths.iter_mut().for_each(|path| *path = format!("{path}/{part}"));
        }
    }
    let mut files = Vec::new();
    for path in paths {
        if tree.kind(&path)? == Some(FileKind::File) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the entries of folders whose names match. As in a shell, a leading dot must be named.
fn matching(tree: &dyn PlayFiles, folders: &[String], part: &str) -> Result<Vec<String>, FileError> {
    let other = |reason: String| FileError::Other { path: part.to_owned(), reason };
    let regex = Pattern::new(&glob_to_regex(part), Subject::Text, Flags::default());
    let regex = regex.map_err(|error| other(format!("the pattern is invalid: {error}")))?;
    let mut found = Vec::new();
    for folder in folders {
        let shown = if folder.is_empty() { "/" } else { folder };
        if tree.kind(shown)? != Some(FileKind::Folder) {
            continue;
        }
        for name in tree.list(shown)? {
            if name.starts_with('.') && !part.starts_with('.') {
                continue;
            }
            let matched = regex.search(name.as_bytes()).map_err(|error| other(error.to_string()))?;
            if matched.and_then(|matched| matched.span(0)).is_some_and(|(start, _)| start == 0) {
                found.push(format!("{folder}/{name}"));
            }
            if found.len() > MAX_PATHS {
                return Err(other(format!("it leads to more than {MAX_PATHS} paths")));
            }
        }
    }
    Ok(found)
}

/// Returns a path as it was written: relative to a folder, if the pattern was.
pub(crate) fn as_written(path: String, pattern: &str, folder: &Path) -> String {
    if pattern.starts_with('/') {
        return path;
    }
    let relative = Path::new(&path).strip_prefix(folder).ok().map(|rest| rest.display().to_string());
    relative.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use modbox_policy::Policy;

    use super::*;
    use crate::cli::play::files::tree::PlayTree;

    #[test]
    fn files_are_those_of_python() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["files/1.txt", "files/2.txt", "files/.3.txt", "b/1.txt", "b/x.cfg", "b/.y.cfg"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(dir.path().join("b/d.txt")).unwrap();
        let root = dir.path().canonicalize().unwrap();
        let tree = PlayTree::open(std::slice::from_ref(&root), None, &Policy::default());
        let check = |pattern: &str, expect: &[&str]| {
            let found = files(&tree, &format!("{}/{pattern}", root.display())).unwrap();
            let found: Vec<String> = found.into_iter().map(|path| as_written(path, pattern, &root)).collect();
            assert_eq!(found, expect, "{pattern}");
        };
        check("files/*.txt", &["files/1.txt", "files/2.txt"]);
        check("*/1.*", &["b/1.txt", "files/1.txt"]);
        check("files/.*", &["files/.3.txt"]);
        check("[b]/?.cfg", &["b/x.cfg"]);
        check("files/1.txt", &["files/1.txt"]);
        check("b/*.txt", &["b/1.txt"]);
        check("none/*", &[]);
        let denied = files(&tree, &format!("{}/b/.*", root.display()));
        assert!(
            matches!(denied, Err(FileError::Denied { .. })),
            "a dot file beside the folders that Ansible searches: {denied:?}"
        );
        assert!(files(&tree, "/*/x").is_err(), "a folder outside is not listed");
    }
}
