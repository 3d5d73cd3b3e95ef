//! `state=touch` and `state=file`.

use std::fs::{self, File};
use std::path::PathBuf;

use modbox_sdk::files::Planned;
use modbox_sdk::fs::real_path;
use modbox_sdk::{Exit, Failure};

use crate::errors::python;
use crate::found::FileType;
use crate::task::Task;
use crate::text::text;

pub(crate) fn touch(task: &Task<'_>) -> Result<Exit, Failure> {
    let path = &task.path;
    let new = task.found == FileType::Nothing;
    if new && task.module.check_mode() {
        return Ok(Exit::changed().with("dest", text(path)));
    }
    if new {
        task.module.refuse_attributes(path, Planned::File)?;
        File::create(path).map_err(|error| {
            let failure = Failure::new("Error, could not touch target.").with("path", text(path));
            failure.with("details", python(&error, path))
        })?;
    }
    let mut diff = task.diff(path, task.found, "touch");
    let dressed = task.wanted().and_then(|wanted| task.dress(&wanted, new, Some(&mut diff)));
    if dressed.is_err() && new {
        // The first error is more useful than that of the clean-up.
        let _ = fs::remove_file(path);
    }
    Ok(task.exit("dest", path, dressed?, diff))
}

/// Sets the attributes of an existing file. `state=file` creates nothing.
pub(crate) fn ensure_attributes(task: &Task<'_>) -> Result<Exit, Failure> {
    let (mut path, mut found): (PathBuf, FileType) = (task.path.clone(), task.found);
    let mut wanted = task.wanted()?;
    if task.args.follow && found == FileType::Link {
        path = real_path(&path)?;
        wanted.path.clone_from(&path);
        found = FileType::at(&path)?;
    }
    if !matches!(found, FileType::File | FileType::Hard) {
        let message = format!("file ({}) is {}, cannot continue", path.display(), found.name());
        return Err(Failure::new(message).with("path", text(&path)).with("state", found.name()));
    }
    let mut diff = task.diff(&path, found, "file");
    let changed = task.dress(&wanted, false, Some(&mut diff))?;
    Ok(task.exit("path", &path, changed, diff))
}
