//! Paths as text, computed without looking at a file system.
//!
//! Ansible shows paths in variables and messages, so how they are joined and shortened is part of its behaviour.

/// Joins a path to a folder. An absolute path stays as it is.
#[must_use]
pub fn join(folder: &str, path: &str) -> String {
    if path.starts_with('/') || folder.is_empty() {
        return path.to_owned();
    }
    if folder.ends_with('/') { format!("{folder}{path}") } else { format!("{folder}/{path}") }
}

/// Removes `.`, `..` and repeated slashes, as Python's `os.path.normpath` does.
#[must_use]
pub fn normalize(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    match (absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Returns the folder of a path: everything before the last slash.
#[must_use]
pub fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(at) => &path[..at],
        None => "",
    }
}

/// Returns the last part of a path.
#[must_use]
pub fn name(path: &str) -> &str {
    path.rfind('/').map_or(path, |at| &path[at + 1..])
}

/// Returns the extension of a path with its dot, as Python's `os.path.splitext` does.
#[must_use]
pub fn extension(path: &str) -> &str {
    let name = name(path);
    let stem = name.trim_start_matches('.');
    stem.rfind('.').map_or("", |at| &stem[at..])
}

/// Says whether a path lies in a folder. Both are normalized.
#[must_use]
pub fn is_inside(path: &str, folder: &str) -> bool {
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized_as_python_does() {
        let check = |path: &str, expect: &str| assert_eq!(normalize(path), expect, "{path}");
        check("/a/./b//c/../d", "/a/b/d");
        check("/../a", "/a");
        check("a/..", ".");
        check("../a/../../b", "../../b");
        check("/", "/");
        check("", ".");
    }

    #[test]
    fn extensions_leave_hidden_files_alone() {
        let check = |path: &str, expect: &str| assert_eq!(extension(path), expect, "{path}");
        check("/a/main.yml", ".yml");
        check("/a.b/main", "");
        check(".hidden", "");
        check(".hidden.yml", ".yml");
    }

    #[test]
    fn a_folder_is_not_its_name_sake() {
        let check = |path: &str, folder: &str, expect| assert_eq!(is_inside(path, folder), expect, "{path} {folder}");
        check("/a/b", "/a", true);
        check("/a", "/a", true);
        check("/ab", "/a", false);
        check("/a/b", "/a/", true);
    }
}
