//! Lists the files of a project that its component may depend on: all except the output of tools and installed
//! packages.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without sources.
const LEFT_OUT: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];

/// Maximum number of files. A project with more files is always built.
const MAX_FILES: usize = 5000;

/// Maximum depth of a module's folders.
const MAX_DEPTH: usize = 32;

/// Returns the files in sorted order, or `None` when there are too many or they cannot be listed.
pub(crate) fn list(dir: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(dir, 0, &mut found)?;
    found.sort();
    Some(found)
}

fn collect(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    for entry in fs::read_dir(dir).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".");
        if hidden || LEFT_OUT.iter().any(|left_out| name == *left_out) {
            continue;
        }
        // A link to a folder is not followed, because links may form a circle.
        match entry.file_type().ok()? {
            kind if kind.is_dir() => collect(&entry.path(), depth + 1, found)?,
            _ if found.len() >= MAX_FILES => return None,
            _ => found.push(entry.path()),
        }
    }
    Some(())
}

/// Returns the files directly in a project's folder whose names end with `end`.
pub(crate) fn ending(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == end) && path.is_file())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_tools_is_not_a_source() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["main.py", "lib/more.py", "__pycache__/main.pyc", "target/modbox/x.wasm", ".git/index"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let expect = ["lib/more.py", "main.py"].map(|name| dir.path().join(name));
        assert_eq!(list(dir.path()).unwrap(), expect);
        assert_eq!(ending(dir.path(), "py"), [dir.path().join("main.py")]);
        assert_eq!(list(&dir.path().join("nothing")), None);
    }
}
