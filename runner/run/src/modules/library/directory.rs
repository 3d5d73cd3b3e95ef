//! Directories that are named as modules: projects, and what a directory without a project holds.

use std::fs;
use std::path::Path;

/// Files that mark a directory as a project. `modbox-authoring` builds these; a test compares the two lists.
pub const PROJECT_FILES: [&str; 5] = ["Cargo.toml", "main.c", "go.mod", "main.py", "main.js"];

/// Projects of a directory that a message lists.
const MAX_LISTED: usize = 5;

/// Entries of a directory that are looked at.
const MAX_ENTRIES: usize = 4096;

/// Returns whether a directory is a project.
pub(super) fn is_project(directory: &Path) -> bool {
    PROJECT_FILES.iter().any(|name| directory.join(name).is_file())
}

/// Returns where the source of a module lies that was named without a path, or what its directory holds; empty if the
/// working directory has nothing of that name.
pub(super) fn advice(name: &Path, working: &Path) -> String {
    let shown = name.display();
    let directory = working.join(name);
    if directory.is_dir() {
        return match (is_project(&directory), holds(&directory)) {
            (true, _) => format!("; `./{shown}` is a module's source: name it by that path"),
            (false, Some(holds)) => format!("; `./{shown}` is a directory and no module project{holds}"),
            (false, None) => format!("; `./{shown}` names the directory"),
        };
    }
    match is_project(&working.join("modules").join(name)) {
        true => format!("; `modules/{shown}` is a module's source: name it by that path"),
        false => String::new(),
    }
}

/// Returns which projects a directory holds, as the end of a sentence.
pub(super) fn holds(directory: &Path) -> Option<String> {
    let entries = fs::read_dir(directory).ok()?.flatten().take(MAX_ENTRIES).map(|entry| entry.path());
    let projects = entries.filter(|path| path.is_dir() && is_project(path));
    let mut names: Vec<String> =
        projects.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    names.sort();
    let more = if names.len() > MAX_LISTED { ", …" } else { "" };
    names.truncate(MAX_LISTED);
    (!names.is_empty()).then(|| format!("; it has the projects {}{more}", names.join(", ")))
}
