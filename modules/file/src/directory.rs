//! `state=directory`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use modbox_sdk::files::{FileAttributes, Planned};
use modbox_sdk::fs::real_path;
use modbox_sdk::{Exit, Failure};

use crate::absent::entries;
use crate::errors::python;
use crate::found::{FileType, exists, is_directory, look};
use crate::task::Task;
use crate::text::text;

/// The most links in a row that `recurse` follows to folders.
const MAX_FOLLOWED: usize = 40;

pub(crate) fn ensure(task: &Task<'_>) -> Result<Exit, Failure> {
    let (mut path, mut found) = (task.path.clone(), task.found);
    let mut wanted = task.wanted()?;
    if task.args.follow && found == FileType::Link {
        path = real_path(&path)?;
        wanted.path.clone_from(&path);
        found = FileType::at(&path)?;
    }
    let mut diff = task.diff(&path, found, "directory");
    let mut changed = false;
    match found {
        FileType::Nothing if task.module.check_mode() => return Ok(task.exit("path", &path, true, diff)),
        FileType::Nothing if path.as_os_str().is_empty() => {
            let error = io::Error::from(ErrorKind::NotFound);
            return Err(failure(&path, &path, &python(&error, &path)));
        }
        FileType::Nothing => {
            task.module.refuse_attributes(&path, Planned::Directory)?;
            for folder in missing(&path) {
                changed |= make(&folder).map_err(|error| {
                    let why = format!("{}{}", python(&error, &folder), remedy(&error, &folder));
                    failure(&path, &folder, &why)
                })?;
                let of_folder = FileAttributes { path: folder.clone(), ..wanted.clone() };
                let set = task.module.set_fs_attributes_if_different(&of_folder, changed, Some(&mut diff));
                changed = set.map_err(|why| failure(&path, &folder, why.message()))?;
            }
            changed |= task.times.set(task.module, &path, &mut diff)?;
        }
        FileType::Directory => {
            changed = task.dress(&wanted, changed, Some(&mut diff))?;
            if task.args.recurse {
                changed |= recurse(task, &path, &wanted, 0)?;
            }
        }
        other => {
            let message = format!("{} already exists as a {}", path.display(), other.name());
            return Err(Failure::new(message).with("path", text(&path)));
        }
    }
    Ok(task.exit("path", &path, changed, diff))
}

fn failure(path: &Path, folder: &Path, why: &str) -> Failure {
    let message = format!("There was an issue creating {} as requested: {why}", folder.display());
    Failure::new(message).with("path", text(path))
}

/// Returns the hint for a missing parent folder, in which case naming the path granted nothing.
fn remedy(error: &io::Error, folder: &Path) -> String {
    if cfg!(unix) || error.kind() != ErrorKind::PermissionDenied {
        return String::new();
    }
    format!("; it is not granted or does not exist: `--allow-write {}`", folder.display())
}

/// Returns the missing folders of a path, outer ones first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !exists(folder));
    let mut folders: Vec<PathBuf> = folders.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

fn make(folder: &Path) -> io::Result<bool> {
    match fs::create_dir(folder) {
        Ok(()) => Ok(true),
        // Another process created it first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && is_directory(folder) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sets attributes and times of everything in a folder.
fn recurse(task: &Task<'_>, top: &Path, wanted: &FileAttributes, followed: usize) -> Result<bool, Failure> {
    let mut changed = false;
    if followed > MAX_FOLLOWED {
        let why = "maximum recursion depth exceeded";
        let top = top.display();
        return Err(Failure::new(format!(
            "Could not recursively set attributes on {top}. Original error was: '{why}'"
        )));
    }
    let mut left = vec![top.to_owned()];
    while let Some(folder) = left.pop() {
        // As with `os.walk`, unreadable folders are skipped.
        for (name, is_folder) in entries(&folder).unwrap_or_default() {
            let path = folder.join(name);
            changed |= task.dress(&FileAttributes { path: path.clone(), ..wanted.clone() }, false, None)?;
            let is_link = look(&path)?.is_some_and(|found| found.target.is_some());
            if is_folder {
                left.push(path);
            } else if is_link && task.args.follow && exists(&path) {
                let path = real_path(&path)?;
                if is_directory(&path) {
                    changed |= recurse(task, &path, wanted, followed + 1)?;
                }
                changed |= task.dress(&FileAttributes { path, ..wanted.clone() }, false, None)?;
            }
        }
    }
    Ok(changed)
}
