//! Checks whether a path with wildcards exists, by the rules of Python's `glob.glob`: `*`, `?` and `[…]` within a name.
//! Names with a leading dot match only a pattern with one.

use std::fs;
use std::path::{Component, Path, PathBuf};

use modbox_sdk::fnmatch;

/// Returns whether a pattern matches anything. A relative pattern starts at `base`.
pub(crate) fn finds(base: &Path, pattern: &str) -> bool {
    let path = base.join(pattern);
    if !has_wildcards(pattern) {
        // A link without a target exists too, unless the path asks for a directory.
        return if pattern.ends_with('/') { path.is_dir() } else { path.symlink_metadata().is_ok() };
    }
    let mut found = vec![PathBuf::from(base)];
    for component in Path::new(pattern).components() {
        found = match component {
            Component::Normal(name) if name.to_str().is_some_and(has_wildcards) => {
                let pattern = name.to_str().unwrap_or_default();
                found.iter().flat_map(|directory| matching(directory, pattern)).collect()
            }
            plain => found.iter().map(|directory| directory.join(plain)).collect(),
        };
        found.retain(|path| path.as_os_str().is_empty() || path.symlink_metadata().is_ok());
    }
    found.iter().any(|path| !pattern.ends_with('/') || path.is_dir())
}

fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn matching(directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(entries) = fs::read_dir(listed) else { return Vec::new() };
    let fits = |name: &str| {
        let hidden = name.starts_with('.') && !pattern.starts_with('.');
        !hidden && fnmatch(pattern, name)
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| fits(name)).map(|name| directory.join(name)).collect()
}
