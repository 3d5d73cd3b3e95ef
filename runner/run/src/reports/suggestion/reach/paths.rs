//! Which paths of an observed run become grants.
//!
//! Not: what is in the way to another path, what was only looked at and not all users may read, a temporary name of a file that then
//! got another one, a directory at the top, and what is not there: a room without it looks the same.

use std::collections::BTreeSet;
use std::path::Path;

use modbox_vocabulary::{Capability, Operation, PathState};

use crate::reports::suggestion::reach::commands::CommandNeeds;
use crate::reports::suggestion::record::{RunRecord, Use};

/// Maximum number of paths in one directory that stay single entries.
const MAX_SIBLINGS: usize = 8;

/// Beginnings of paths that interpreters look at when they start, and go on without.
const OF_INTERPRETERS: [&str; 2] = ["/etc/python", "/etc/perl/"];

/// Directories of many programs, which are never granted as a whole, as those at the top are not.
const SHARED: [&str; 11] = [
    "/etc/default",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/var/tmp",
];

/// Directories that the system has for the time of a run, and that a room has of its own.
const OWN: [&str; 4] = ["/dev", "/proc", "/sys", "/tmp"];

/// Paths that are granted to a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PathNeeds {
    pub(super) read: BTreeSet<String>,
    pub(super) write: BTreeSet<String>,
    /// What is left out, for a person.
    pub(super) left_out: Vec<String>,
    /// Why no grant of paths is enough.
    pub(super) beyond: Option<String>,
}

/// What a use of a path becomes.
enum PathOutcome {
    /// A grant of this path.
    Path(String),
    /// No grant.
    Nothing,
    /// No grant, which a person may want to know.
    LeftOut(String),
    /// No grant, without which the task fails.
    Beyond(String),
}

impl PathNeeds {
    /// Returns the paths that a run needs beside those that `is_granted` names.
    pub(super) fn of(record: &RunRecord, commands: &CommandNeeds, is_granted: impl Fn(&str, bool) -> bool) -> Self {
        let mut needs = Self::default();
        let temporary: BTreeSet<&str> = temporary(record);
        for used in record.uses().filter(|used| commands.is_inside(used)) {
            let (writes, path) = (used.is_for(Capability::Write), used.missing.subject.as_str());
            if !writes && !used.is_for(Capability::Read) || !path.starts_with('/') {
                continue;
            }
            // No option allows the question whether a path may be written, which does not use the path.
            let is_asked = used.missing.allow.is_empty();
            if is_asked || is_of_controller(path) {
                continue;
            }
            if temporary.contains(path) || is_own(record, path) || is_granted(path, writes) {
                continue;
            }
            match (writes, kept(&used)) {
                (_, PathOutcome::LeftOut(why)) => needs.left_out.push(why),
                (_, PathOutcome::Nothing) => {}
                (_, PathOutcome::Beyond(why)) => needs.beyond = Some(why),
                (true, PathOutcome::Path(path)) => drop(needs.write.insert(path)),
                (false, PathOutcome::Path(path)) => drop(needs.read.insert(path)),
            }
        }
        needs.reduce();
        needs
    }

    /// Makes the paths fewer: a directory in the place of many paths in it, and no path within a granted one.
    fn reduce(&mut self) {
        widen(&mut self.write);
        widen(&mut self.read);
        let write = self.write.clone();
        let within = |path: &str, others: &BTreeSet<String>| {
            others.iter().any(|other| other != path && Path::new(path).starts_with(other))
        };
        self.write.retain(|path| !within(path, &write));
        let read = self.read.clone();
        self.read.retain(|path| !write.contains(path) && !within(path, &write) && !within(path, &read));
        // The way to a path needs no grant.
        let all: Vec<String> = self.read.iter().chain(&self.write).cloned().collect();
        self.left_out.retain(|why| !all.iter().any(|path| why.ends_with(path.as_str())));
        self.left_out.sort();
        self.left_out.dedup();
    }
}

/// Returns whether a path is in a directory that a controller made for one task (ansible-core 2.19,
/// `ShellBase._generate_temp_dir_name`). Arguments name the files in it that a module needs.
fn is_of_controller(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with("ansible-tmp-"))
}

fn widen(paths: &mut BTreeSet<String>) {
    let folders: BTreeSet<String> = paths.iter().filter_map(|path| parent(path)).collect();
    for folder in folders {
        let inner: Vec<String> =
            paths.iter().filter(|path| parent(path).as_deref() == Some(&*folder)).cloned().collect();
        if inner.len() > MAX_SIBLINGS {
            paths.retain(|path| !inner.contains(path));
            paths.insert(folder);
        }
    }
}

/// Returns whether a path is a directory at the top, or another one that many programs share.
fn is_top(path: &Path) -> bool {
    path.components().count() <= 2 || SHARED.iter().any(|shared| path == Path::new(shared))
}

/// Directories at the top that have nothing of the system's own.
const DATA: [&str; 4] = ["/media", "/mnt", "/opt", "/srv"];

/// Returns the directory in which a directory or a link is made, unless it is one of the system's own at the top.
fn made_in(path: &str) -> Option<String> {
    let folder = Path::new(path).parent().and_then(Path::to_str);
    folder.filter(|folder| DATA.contains(folder)).map(str::to_owned).or_else(|| parent(path))
}

/// Returns the directory of a path, unless it is one at the top.
fn parent(path: &str) -> Option<String> {
    let folder = Path::new(path).parent().filter(|folder| !is_top(folder))?;
    folder.to_str().map(str::to_owned)
}

/// Returns the names that files had only until they got others.
fn temporary(record: &RunRecord) -> BTreeSet<&str> {
    let was_missing = |path: &str| {
        let states = record.uses().filter(|used| used.missing.subject == path).map(|used| used.was);
        states.into_iter().all(|was| matches!(was, None | Some(PathState::Missing)))
            || record.uses().any(|used| used.missing.subject == path && used.was == Some(PathState::Missing))
    };
    let renamed = record.renamed.iter().map(|(from, _)| from.as_str());
    renamed.filter(|from| was_missing(from)).collect()
}

fn is_own(record: &RunRecord, path: &str) -> bool {
    if OF_INTERPRETERS.iter().any(|start| path.starts_with(start)) {
        return true;
    }
    let path = Path::new(path);
    OWN.iter().any(|own| path.starts_with(own)) && !path.starts_with("/tmp")
        || record.temporary.as_deref().is_some_and(|folder| path.starts_with(folder))
        || path.components().any(|part| part.as_os_str().to_str().is_some_and(|name| name.starts_with(".ansible_tmp")))
}

/// Returns what a use of a path becomes.
fn kept(used: &Use<'_>) -> PathOutcome {
    match used.is_for(Capability::Write) {
        true => written(used),
        false => read(used),
    }
}

fn written(used: &Use<'_>) -> PathOutcome {
    let (subject, was) = (&used.missing.subject, used.was);
    let is_new = matches!(was, None | Some(PathState::Missing));
    let makes_directory = is_new && used.is(Operation::MakeDirectory);
    // Files and new directories are taken back from a granted name. Links need the directory around them, and so does what is removed.
    let changes_link = is_new && used.is(Operation::MakeLink)
        || used.is(Operation::Change) && was == Some(PathState::Other)
        || used.is(Operation::Remove) && matches!(was, Some(PathState::Other | PathState::Directory));
    match made_in(subject) {
        Some(folder) if makes_directory || changes_link => PathOutcome::Path(folder),
        None if changes_link => {
            PathOutcome::Beyond(format!("it makes, replaces or removes the link or the directory {subject}"))
        }
        _ if is_top(Path::new(subject)) && was == Some(PathState::Directory) => {
            PathOutcome::LeftOut(format!("left out, since it is a directory at the top: write {subject}"))
        }
        _ => PathOutcome::Path(subject.clone()),
    }
}

fn read(used: &Use<'_>) -> PathOutcome {
    let (subject, was) = (&used.missing.subject, used.was);
    match was {
        Some(PathState::Missing) | None => PathOutcome::Nothing,
        Some(PathState::Directory) if used.is(Operation::MakeDirectory) => PathOutcome::Nothing,
        Some(PathState::Directory) if is_top(Path::new(subject)) => match used.is(Operation::Look) {
            true => PathOutcome::Nothing,
            false => PathOutcome::LeftOut(format!("left out, since it is a directory at the top: read {subject}")),
        },
        // What was looked at and is a link leads to something else, which has a use of its own.
        Some(PathState::PrivateFile | PathState::Other) if used.is(Operation::Look) => PathOutcome::Nothing,
        _ => PathOutcome::Path(subject.clone()),
    }
}
