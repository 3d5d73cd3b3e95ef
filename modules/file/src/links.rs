//! `state=link` and `state=hard`. A rename replaces the old entry, so that one of both always exists.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use modbox_sdk::files::{AttributesDiff, Planned};
use modbox_sdk::fs::{host_bytes, path_value};
use modbox_sdk::{Exit, Failure, Value};

use crate::absent::entries;
use crate::errors::{python, python_of_two};
use crate::found::{FileType, exists, is_directory, look_behind, target};
use crate::task::Task;
use crate::text::text;

pub(crate) fn symbolic(task: &mut Task<'_>) -> Result<Exit, Failure> {
    let path = task.path.clone();
    let src = match &task.args.src {
        Some(src) => Some(src.clone()),
        // The existing link has the target already.
        None if task.args.follow && exists(&path) && task.found == FileType::Link => {
            let says = fs::read_link(&path).ok().and_then(|says| says.into_os_string().into_string().ok());
            Some(says.unwrap_or(String::from_utf8_lossy(&target(&path)?).into_owned()))
        }
        None => None,
    };
    check_source(task, src.as_deref())?;
    check_place(task)?;
    let mut diff = task.diff(&path, task.found, "link");
    let Some(src) = src else {
        if task.found != FileType::Link {
            return Err(Failure::new("src is required for creating new symlinks"));
        }
        return finish_link(task, None, false, diff);
    };
    let mut changed = task.found != FileType::Link;
    if task.found == FileType::Link {
        let old = target(&path)?;
        if old != *host_bytes(&src) {
            diff.note("src", Value::from_os_bytes(&old), path_value(&src));
            changed = true;
        }
    }
    if changed && !task.module.check_mode() {
        if task.args.follow {
            let target = path.parent().unwrap_or(&path).join(&src);
            task.module.refuse_attributes(&target, Planned::NameOf(&target))?;
        }
        place(task, Path::new(&src), modbox_sdk::fs::symlink)?;
    }
    let finished = finish_link(task, Some(&src), changed, diff);
    if finished.is_err() && changed && task.found == FileType::Nothing && !task.module.check_mode() {
        // The first error is more useful than that of the clean-up.
        let _ = fs::remove_file(&path);
    }
    finished
}

/// Refuses a link without a target, unless `force` is set.
fn check_source(task: &Task<'_>, src: Option<&str>) -> Result<(), Failure> {
    let Some(src) = src.filter(|_| !task.args.force) else { return Ok(()) };
    let folder = if task.found == FileType::Directory { &task.path } else { task.path.parent().unwrap_or(&task.path) };
    let absolute = folder.join(src);
    if exists(&absolute) {
        return Ok(());
    }
    let shown = absolute.display();
    let message = format!(
        "src file does not exist, use 'force=yes' if you really want to create the link: {shown}{}",
        remedy(&task.path)
    );
    Err(Failure::new(message).with("path", text(&task.path)).with("src", src))
}

/// Refuses to replace an entry that is not a link, unless `force` is set. A folder must be empty.
fn check_place(task: &Task<'_>) -> Result<(), Failure> {
    let (path, kind) = (task.path.display(), task.found.name());
    let message = match task.found {
        FileType::Directory if task.args.force => match entries(&task.path) {
            Ok(entries) if entries.is_empty() => return Ok(()),
            _ => format!("the directory {path} is not empty, refusing to convert it"),
        },
        FileType::Directory | FileType::File | FileType::Hard if !task.args.force => {
            format!("refusing to convert from {kind} to symlink for {path}")
        }
        _ => return Ok(()),
    };
    Err(Failure::new(message).with("path", text(&task.path)))
}

fn finish_link(
    task: &mut Task<'_>,
    src: Option<&str>,
    mut changed: bool,
    mut diff: AttributesDiff,
) -> Result<Exit, Failure> {
    let path = task.path.clone();
    if !task.module.check_mode() || exists(&path) {
        let wanted = task.wanted()?;
        if task.args.follow && FileType::at(&path)? == FileType::Link && !exists(&wanted.path) {
            task.module.warn(
                "Cannot set fs attributes on a non-existent symlink target. follow should be set to False to avoid this.",
            );
        } else {
            changed = task.dress(&wanted, changed, Some(&mut diff))?;
        }
    }
    Ok(task.exit("dest", &path, changed, diff).with("src", src.map_or(Value::Null, path_value)))
}

pub(crate) fn hard(task: &Task<'_>) -> Result<Exit, Failure> {
    let path = &task.path;
    let about = |message: &str| {
        let src = task.args.src.as_deref().map_or(Value::Null, Value::from);
        Failure::new(message).with("dest", text(path)).with("src", src)
    };
    let wanted = task.wanted()?;
    let src = task.args.src.as_deref().map(Path::new);
    if task.found != FileType::Hard && src.is_none() {
        return Err(Failure::new("src is required for creating new hardlinks"));
    }
    if src.is_some_and(|src| !exists(src)) {
        return Err(about("src does not exist"));
    }
    let mut diff = task.diff(path, task.found, "hard");
    let same = src.is_none_or(|src| same_file(path, src));
    let old = if task.found == FileType::Link { target(path)? } else { Vec::new() };
    let changed = match (task.found, src) {
        (FileType::Nothing | FileType::File, _) => true,
        (FileType::Link, Some(src)) => old != *host_bytes(src),
        (FileType::Link, None) | (FileType::Hard, _) => !same,
        (FileType::Directory, _) if same => return Ok(Exit::unchanged().with("path", text(path))),
        (FileType::Directory, _) => true,
    };
    if let (FileType::Link, true, Some(src)) = (task.found, changed, src) {
        diff.note("src", Value::from_os_bytes(&old), text(src));
    }
    if changed && !task.args.force {
        match task.found {
            FileType::Hard => return Err(about("Cannot link, different hard link exists at destination")),
            FileType::File => return Err(about("Cannot link, file exists at destination")),
            FileType::Directory => return Err(about("Cannot link: different hard link exists at destination")),
            FileType::Nothing | FileType::Link => {}
        }
    }
    if let (true, Some(src)) = (changed && !task.module.check_mode(), src) {
        task.module.refuse_attributes(path, Planned::NameOf(src))?;
        // A new name refers to the link's target. A name that replaces an entry refers to the link itself.
        let followed = task.args.follow && task.found == FileType::Nothing && FileType::at(src)? == FileType::Link;
        let real = if followed { modbox_sdk::fs::real_path(src)? } else { src.to_owned() };
        place(task, &real, |src, path| fs::hard_link(src, path))?;
    }
    let exit = |changed, diff| task.exit("dest", path, changed, diff).with("src", src.map_or(Value::Null, text));
    if task.module.check_mode() && !exists(path) {
        return Ok(exit(changed, diff));
    }
    let changed = task.dress(&wanted, changed, Some(&mut diff))?;
    Ok(exit(changed, diff))
}

fn same_file(left: &Path, right: &Path) -> bool {
    let id = |path: &Path| look_behind(path).ok().flatten().map(|found| (found.device, found.inode));
    id(left).is_some() && id(left) == id(right)
}

/// Creates a link, in place of an existing entry.
fn place(task: &Task<'_>, src: &Path, link: impl Fn(&Path, &Path) -> io::Result<()>) -> Result<(), Failure> {
    let path = &task.path;
    let failed =
        |what: &str, why: String| Failure::new(format!("{what}: {why}{}", remedy(path))).with("path", text(path));
    if task.found == FileType::Nothing {
        return link(src, path).map_err(|error| failed("Error while linking", python_of_two(&error, src, path)));
    }
    let temporary = beside(path);
    let replaced = match task.found {
        FileType::Directory => fs::remove_dir(path),
        _ => Ok(()),
    };
    let replaced = replaced.and_then(|()| link(src, &temporary)).and_then(|()| fs::rename(&temporary, path));
    // If both names are the same file, the rename does nothing and leaves both.
    let _ = fs::remove_file(&temporary);
    replaced.map_err(|error| failed("Error while replacing", python(&error, path)))
}

/// Returns a temporary name for a link.
fn beside(path: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    path.with_file_name(format!(".modbox.{now}.tmp"))
}

/// Returns the hint for a grant that covers only the name itself.
fn remedy(path: &Path) -> String {
    if crate::absent::folder_is_granted(path) || is_directory(path) {
        return String::new();
    }
    format!("; creating a link needs its folder: `--allow-write {}`", path.parent().unwrap_or(path).display())
}
