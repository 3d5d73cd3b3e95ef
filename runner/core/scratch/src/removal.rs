//! Removal of a run's directory, with the files that the run has recorded in it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use crate::directory_name::{LEFTOVER_PREFIX, PREFIX, is_guests};
use crate::private_folder::PREFIX as ROOT_PREFIX;

/// How often removal is tried while a dying program still writes into the directory.
const REMOVAL_TRIES: u32 = 50;

/// Removes a run's directory, and before it the files that a killed worker has recorded there.
pub(crate) fn remove_with_notes(dir: &Path) {
    // Most are empty, so that one call is enough.
    if fs::remove_dir(dir).is_ok() {
        return;
    }
    if !is_guests(dir) {
        remove_noted(dir);
    }
    remove(dir);
}

/// Removes the files that a killed run has recorded in its directory: its own files in directories that it was granted.
/// The directory of a process with many runs contains a folder like the user's, with the runs' directories, which are
/// searched too.
fn remove_noted(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        // A guest chose the names here, so links are not records.
        let name = entry.file_name();
        if is_guests(name.as_ref()) {
            continue;
        }
        if [ROOT_PREFIX, PREFIX].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            // A link leads elsewhere.
            if entry.file_type().is_ok_and(|sort| sort.is_dir()) {
                remove_noted(&entry.path());
            }
            continue;
        }
        let Ok(target) = fs::read_link(entry.path()) else { continue };
        let reserved = target.file_name().is_some_and(|name| name.to_string_lossy().starts_with(LEFTOVER_PREFIX));
        if reserved && target.is_absolute() && may_have_made(&entry.path(), &target) {
            let _ = fs::remove_file(target);
        }
    }
}

/// Returns whether the user who made a record may have made the file that it names. Another user's record counts for that
/// user's files alone.
fn may_have_made(record: &Path, file: &Path) -> bool {
    let owner = |path: &Path| path.symlink_metadata().ok().map(|found| found.uid());
    let maker = owner(record);
    maker == Some(rustix::process::geteuid().as_raw()) || (maker.is_some() && maker == owner(file))
}

/// Removes a directory, also one that a module made unreadable or still writes into.
fn remove(path: &Path) {
    // Most are empty, so that one call is enough.
    if fs::remove_dir(path).is_ok() {
        return;
    }
    for _ in 0..REMOVAL_TRIES {
        match fs::remove_dir_all(path) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            // Root needs no rights. In another user's directory it would follow that user's links.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_root() => make_removable(path),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Restores the owner's rights to directories, which a module may have removed.
fn make_removable(path: &Path) {
    let mut pending = vec![path.to_owned()];
    while let Some(dir) = pending.pop() {
        drop(fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)));
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        pending.extend(entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
    }
}
