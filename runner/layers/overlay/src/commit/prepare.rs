//! Builds all that a transaction will publish beside the names that it will have, and describes the operations.
//!
//! A temporary is in the directory of its name, so that the default ACL, the label and the quota of that directory
//! apply, and a rename stays within one file system. This file does not publish.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::changes::change::{Change, Entry, EntryType};

use super::attributes::Attributes;
use super::conflict;
use super::directories::Directories;
use super::disk_calls::DiskCalls;
use super::failure::{Context, Failure, Why};
use super::inode::{self, Inode};
use super::journal::{Below, Operation, OperationKind};
use super::payload_copy::{PayloadCopy, Source, Target, keep_label};
use super::plan::{Action, Owners, Reason, Refusal, Step, temporary};
use super::start::Start;

/// Granted directory or name with its changes.
pub struct Granted<'a> {
    /// Path on the machine of the directory, or of the directory that holds the name.
    pub path: PathBuf,
    /// That directory.
    pub real: BorrowedFd<'a>,
    /// The view of it, which does not change any more; or the directory that holds the staged file.
    pub view: BorrowedFd<'a>,
    /// The granted name, if it is not the whole directory.
    pub only: Option<Only>,
    /// How the view differs from the directory.
    pub changes: Vec<Change>,
    /// When the view was made.
    pub start: Start,
}

impl std::fmt::Debug for Granted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Granted").field("path", &self.path).field("only", &self.only).finish_non_exhaustive()
    }
}

/// Granted name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    /// Name on the machine.
    pub name: OsString,
    /// Name of the staged file.
    pub staged: OsString,
}

/// Step whose place was checked.
#[derive(Debug)]
pub(super) struct Checked<'a> {
    grant: usize,
    step: Step<'a>,
    directory: usize,
    name: OsString,
    path: PathBuf,
    old: Option<Inode>,
}

/// Checks the place of each step of a grant, and opens its directory. Returns the steps; failures are collected.
pub(super) fn check<'a>(
    grant: usize,
    granted: &Granted<'_>,
    steps: Vec<Step<'a>>,
    directories: &mut Directories<'_>,
) -> (Vec<Checked<'a>>, Vec<Failure>) {
    let (mut checked, mut failures) = (Vec::new(), Vec::new());
    if !steps.is_empty() {
        failures.extend(check_root(granted).err());
    }
    for step in steps {
        match check_step(grant, granted, step, directories) {
            Ok(step) => checked.push(step),
            Err(failure) => failures.push(failure),
        }
    }
    (checked, failures)
}

fn check_root(granted: &Granted<'_>) -> Result<(), Failure> {
    granted.start.check_clock(&granted.path)?;
    let held = rustix::fs::fstat(granted.real).context("look at", &granted.path)?;
    let there = rustix::fs::stat(&granted.path).ok();
    let is_same = there.is_some_and(|there| (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino));
    if is_same { Ok(()) } else { Err(Failure::conflict(&granted.path, Why::Directory)) }
}

fn check_step<'a>(
    grant: usize,
    granted: &Granted<'_>,
    step: Step<'a>,
    directories: &mut Directories<'_>,
) -> Result<Checked<'a>, Failure> {
    let path = if step.path.as_os_str().is_empty() { granted.path.clone() } else { granted.path.join(&step.path) };
    if step.action == Action::Attributes {
        let (directory, opened) = directories.enter(grant, &step.path)?;
        let opened = opened.as_fd();
        let before = step.before.map(Attributes::of);
        let found = read_attributes(opened).context("read the attributes of", &path)?;
        if before != Some(found) {
            return Err(Failure::conflict(&path, Why::Changed));
        }
        return Ok(Checked { grant, step, directory, name: OsString::new(), path, old: None });
    }
    let Some(name) = step.path.file_name().map(OsStr::to_owned) else {
        return Err(Failure::Refused(Refusal { path, reason: Reason::Root }));
    };
    let (directory, opened) = directories.enter(grant, step.path.parent().unwrap_or_else(|| Path::new("")))?;
    let old = match step.before {
        None => conflict::check_free(&*opened, &name, &path).map(|()| None)?,
        Some(before) => Some(conflict::check_entry(&*opened, &name, &path, before, granted.start.realtime)?),
    };
    Ok(Checked { grant, step, directory, name, path, old })
}

/// Reads the attributes of a directory that is opened as a place only.
pub(super) fn read_attributes(directory: impl AsFd) -> rustix::io::Result<Attributes> {
    Attributes::read(inode::open_entry(directory, OsStr::new("."))?)
}

/// Builds all temporaries. Returns the operations.
pub(super) fn build(
    run: &str,
    grants: &[Granted<'_>],
    checked: &[Checked<'_>],
    directories: &Directories<'_>,
    calls: DiskCalls<'_>,
    owners: &Owners<'_>,
) -> Result<Vec<Operation>, Failure> {
    let mut copiers: BTreeMap<usize, PayloadCopy<'_>> = BTreeMap::new();
    let mut views = ViewDirectories { grants, last: None };
    let mut operations = Vec::new();
    for (number, step) in checked.iter().enumerate() {
        let temporary = temporary(run, number);
        let directory = directories.open_or_last(step.directory)?;
        let new = match step.step.action {
            Action::Create | Action::Replace => {
                let copier = copiers.entry(step.grant).or_insert_with(|| PayloadCopy::new(calls, owners));
                let (view, name) = views.source(step)?;
                Some(build_one((view.as_fd(), name), step, &directory, &temporary, copier)?)
            }
            _ => None,
        };
        let kind = kind(step, new);
        operations.push(Operation { directory: step.directory, name: step.name.clone(), temporary, kind });
    }
    for (grant, copier) in &copiers {
        copier.check_links(&grants[*grant].path)?;
    }
    summarize(&mut operations, directories)?;
    Ok(operations)
}

/// Directories of the views, of which the last one stays open for the next step.
struct ViewDirectories<'a> {
    grants: &'a [Granted<'a>],
    last: Option<(usize, PathBuf, Rc<OwnedFd>)>,
}

impl<'a> ViewDirectories<'a> {
    /// Returns the directory of the new state of a step, and its name there.
    fn source(&mut self, step: &'a Checked<'_>) -> Result<(Rc<OwnedFd>, &'a OsStr), Failure> {
        let granted = &self.grants[step.grant];
        let (parent, name) = match &granted.only {
            Some(only) => (Path::new(""), only.staged.as_os_str()),
            None => (step.step.path.parent().unwrap_or_else(|| Path::new("")), step.name.as_os_str()),
        };
        if let Some((grant, path, opened)) = &self.last
            && (*grant, path.as_path()) == (step.grant, parent)
        {
            return Ok((Rc::clone(opened), name));
        }
        let opened = inode::open_below(granted.view, parent);
        let opened = Rc::new(opened.context("open the directory of the new state of", &step.path)?);
        self.last = Some((step.grant, parent.to_path_buf(), Rc::clone(&opened)));
        Ok((opened, name))
    }
}

fn build_one(
    (view, name): (BorrowedFd<'_>, &OsStr),
    step: &Checked<'_>,
    directory: &OwnedFd,
    temporary: &OsStr,
    copier: &mut PayloadCopy<'_>,
) -> Result<Inode, Failure> {
    let source = Source { dir: view, name, path: &step.path, before: step.step.before };
    let target = Target { dir: directory.as_fd(), name: temporary };
    let made = copier.copy(source, target, 0)?;
    // The view has changed since it was listed, so it was not frozen.
    let is_listed = step.step.after.is_some_and(|after| is_as(&made, after));
    if !is_listed {
        return Err(Failure::Refused(Refusal { path: step.path.clone(), reason: Reason::Contradiction }));
    }
    let kept = step.step.before.is_some_and(|before| before.entry_type == made.entry_type());
    if kept
        && made.entry_type() == EntryType::File
        && copier.has_labels(target).context("read the label of a copy beside", &step.path)?
        && let Ok(old) = inode::open_entry(directory, &step.name)
    {
        keep_label(copier.calls, old, target).context("set the label of a copy beside", &step.path)?;
    }
    Ok(made)
}

fn is_as(made: &Inode, after: &Entry) -> bool {
    made.entry_type() == after.entry_type
        && (after.entry_type == EntryType::Symlink || made.mode & 0o7777 == after.mode & 0o7777)
        && (after.entry_type != EntryType::File || (made.size == after.size && made.modified() == after.modified))
}

fn kind(step: &Checked<'_>, new: Option<Inode>) -> OperationKind {
    let below = Below::default();
    match (step.old, new) {
        (Some(old), Some(new)) => OperationKind::Replace { old, new, below },
        (None, Some(new)) => OperationKind::Create { new, below },
        (Some(old), None) => OperationKind::Remove { old },
        (None, None) => {
            let empty = Attributes { mode: 0, uid: 0, gid: 0, xattrs: BTreeMap::new() };
            let old = step.step.before.map_or_else(|| empty.clone(), Attributes::of);
            OperationKind::Attributes { new: step.step.after.map_or(empty, Attributes::of), old }
        }
    }
}

/// Notes the summaries of new trees, once no link is made in them any more.
fn summarize(operations: &mut [Operation], directories: &Directories<'_>) -> Result<(), Failure> {
    for operation in operations {
        let (OperationKind::Create { new, below } | OperationKind::Replace { new, below, .. }) = &mut operation.kind
        else {
            continue;
        };
        if new.is_directory() {
            let directory = directories.open(operation.directory)?;
            let path = directories.path(operation.directory, &operation.name);
            *below = conflict::summarize(directory, &operation.temporary, &path)?;
        }
    }
    Ok(())
}
