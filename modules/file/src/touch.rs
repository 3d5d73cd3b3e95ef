//! `state=touch` and `state=file`.

use std::fs::{self, File};
use std::path::PathBuf;

use modbox_sdk::fs::real_path;
use modbox_sdk::{Exit, Failure};

use crate::errors::python;
use crate::found::Found;
use crate::task::Task;
use crate::text::text;

pub(crate) fn touch(task: &Task<'_>) -> Result<Exit, Failure> {
    let path = &task.path;
    let new = task.found == Found::Nothing;
    if new && task.module.check_mode() {
        return Ok(Exit::changed().with("dest", text(path)));
    }
    if new {
        File::create(path).map_err(|error| {
            let failure = Failure::new("Error, could not touch target.").with("path", text(path));
            failure.with("details", python(&error, path))
        })?;
    }
    let mut diff = task.diff(path, task.found, "touch");
    let dressed = task.wanted().and_then(|wanted| task.dress(&wanted, new, Some(&mut diff)));
    if dressed.is_err() && new {
        // The first error tells more than a failed clean-up.
        let _ = fs::remove_file(path);
    }
    Ok(task.exit("dest", path, dressed?, diff))
}

/// `state=file` makes nothing: it is about the attributes of what is there.
pub(crate) fn ensure_attributes(task: &Task<'_>) -> Result<Exit, Failure> {
    let (mut path, mut found): (PathBuf, Found) = (task.path.clone(), task.found);
    let mut wanted = task.wanted()?;
    if task.args.follow && found == Found::Link {
        path = real_path(&path)?;
        wanted.path.clone_from(&path);
        found = Found::at(&path)?;
    }
    if !matches!(found, Found::File | Found::Hard) {
        let message = format!("file ({}) is {}, cannot continue", path.display(), found.name());
        return Err(Failure::new(message).with("path", text(&path)).with("state", found.name()));
    }
    let mut diff = task.diff(&path, found, "file");
    let changed = task.dress(&wanted, false, Some(&mut diff))?;
    Ok(task.exit("path", &path, changed, diff))
}
