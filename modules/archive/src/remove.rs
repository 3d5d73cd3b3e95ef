//! `remove`: removes the sources as the original does, once the archive is in its place. What would fail is found before the
//! archive is made.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use modbox_sdk::fs::{check_removal, exists, is_dir, path_value, words};
use modbox_sdk::{Failure, Value};

/// Refuses an archive inside the files to remove, which would be removed too. The original compares letters.
pub(crate) fn check_place(paths: &[String], dest: &str) -> Result<(), Failure> {
    let inside =
        |path: &String| is_dir(path) && dest.starts_with(&format!("{}/", path.strip_suffix('/').unwrap_or(path)));
    if paths.iter().any(inside) {
        let message = "Error, created archive can not be contained in source paths when remove=true";
        return Err(Failure::new(message).with("path", paths.join(", ")));
    }
    Ok(())
}

/// Refuses sources that cannot be removed, before the archive is put into its place.
///
/// # Errors
///
/// Removing a source is not granted.
pub(crate) fn check(named: &[String]) -> Result<(), Failure> {
    for path in named {
        if let Err(error) = check_removal(path) {
            let folder = Path::new(path).parent().unwrap_or_else(|| Path::new("/")).display();
            let remedy = format!("`remove` needs its folder; allow it with `--allow-write {folder}`");
            return Err(refused(path, &format!("{}; {remedy}", words(&error))));
        }
    }
    Ok(())
}

/// Refuses links that the original does not remove, or that lead to what cannot be seen here.
///
/// # Errors
///
/// There is such a link, and no folder around it is removed first.
pub(crate) fn check_links(archived: &[String], named: &[String]) -> Result<(), Failure> {
    let first: HashSet<&Path> = archived.iter().map(Path::new).collect();
    let goes_first = |path: &Path| path.ancestors().skip(1).any(|folder| first.contains(folder));
    for path in named.iter().chain(archived.iter().filter(|path| !goes_first(Path::new(path)))) {
        if !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            continue;
        }
        match fs::metadata(path) {
            Ok(target) if target.is_dir() => return Err(refused(path, "it is a link to a folder")),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(refused(path, &format!("it is a link to what may not be read: {}", words(&error))));
            }
            _ => {}
        }
    }
    Ok(())
}

fn refused(path: &str, why: &str) -> Failure {
    let failure = Failure::new(format!("Error deleting some source files: {path}: {why}"));
    failure.with("files", Value::List(vec![path_value(path)]))
}

/// Removes the sources of an archive of several.
pub(crate) fn several(archived: &[String], named: &[String]) -> Result<(), Failure> {
    let mut failed = Vec::new();
    let mut remove = |path: &str| {
        let removed = if is_dir(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        failed.extend(removed.err().map(|_| path_value(path)));
    };
    archived.iter().filter(|path| exists(path)).for_each(|path| remove(path));
    named.iter().filter(|path| is_dir(path)).for_each(|path| remove(path));
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new("Error deleting some source files: ").with("files", Value::List(failed)))
}

/// Removes the only source.
pub(crate) fn single(path: &str) -> Result<(), Failure> {
    fs::remove_file(path).map_err(|error| {
        Failure::new(format!("Unable to remove source file: {}", words(&error))).with("path", path_value(path))
    })
}
