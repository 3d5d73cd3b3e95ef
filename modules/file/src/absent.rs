//! `state=absent`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use modbox_sdk::files::{self, AttributesDiff};
use modbox_sdk::{Dict, Exit, Failure, Value};

use crate::errors::python;
use crate::found::FileType;
use crate::task::Task;
use crate::text::text;

/// The most names in a difference.
const MAX_LISTED: usize = 100_000;

pub(crate) fn ensure(task: &Task<'_>) -> Result<Exit, Failure> {
    let path = &task.path;
    if task.found == FileType::Nothing {
        return Ok(Exit::unchanged().with("path", text(path)).with("state", "absent"));
    }
    let mut diff = task.diff(path, task.found, "absent");
    if task.found == FileType::Directory && task.module.diff_wanted() {
        list(path, &mut diff)?;
    }
    if !task.module.check_mode() {
        remove(path, task.found)?;
    }
    Ok(task.exit("path", path, true, diff).with("state", "absent"))
}

fn remove(path: &Path, found: FileType) -> Result<(), Failure> {
    if found == FileType::Directory {
        // Check this before the contents are removed.
        if !folder_is_granted(path) {
            let folder = path.parent().unwrap_or(path).display();
            let why = format!("only its contents are granted; allow the parent folder with `--allow-write {folder}`");
            return Err(Failure::new(format!("rmtree failed: {why}")).with("path", text(path)));
        }
        return fs::remove_dir_all(path)
            .map_err(|error| Failure::new(format!("rmtree failed: {}", python(&error, path))));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let failure = Failure::new("Unlinking failed.").with("path", text(path));
            Err(failure.with("details", python(&error, path)))
        }
        _ => Ok(()),
    }
}

/// Returns whether a path's folder is on the host, so that entries can be removed from it, and is not only part of the
/// sandbox.
pub(crate) fn folder_is_granted(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    cfg!(unix) || files::stat(folder, false).is_ok_and(|found| (found.inode, found.device) != (0, 0))
}

/// Lists the contents of a folder, which are removed with it.
fn list(path: &Path, diff: &mut AttributesDiff) -> Result<(), Failure> {
    let (mut folders, mut others) = (Vec::new(), Vec::new());
    let mut left = vec![path.to_owned()];
    while let Some(folder) = left.pop() {
        // As with `os.walk`, unreadable folders are skipped.
        for (name, is_folder) in entries(&folder).unwrap_or_default() {
            let listed = folder.join(name);
            if is_folder {
                left.push(listed.clone());
            }
            let list = if is_folder || crate::found::is_directory(&listed) { &mut folders } else { &mut others };
            list.push(text(&listed));
            if folders.len() + others.len() > MAX_LISTED {
                return Ok(());
            }
        }
    }
    let content =
        Dict::from_iter([("directories".to_owned(), Value::List(folders)), ("files".to_owned(), Value::List(others))]);
    diff.before.insert("path_content".to_owned(), Value::Dict(content));
    Ok(())
}

/// Returns the names in a folder, and whether each is a folder. Links are not folders.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((PathBuf::from(entry.file_name()), entry.file_type()?.is_dir()))
    };
    fs::read_dir(folder)?.map(entry).collect()
}
