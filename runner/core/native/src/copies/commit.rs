//! Takes the files of single-name write grants back to the machine, once no process of the module runs any more.
//!
//! The launcher does this, outside the room. It expects anything in the staged directory: a file is taken back, and so is a directory
//! where there was nothing; a name that is gone is removed, and all else is refused. Either all changed files are taken back, or none;
//! see [`take_back`](crate::copies::take_back) for each. What is refused fails the run: the module has said that it made a change.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use modbox_policy::{Access, path_option};
use modbox_vocabulary::{FileFingerprint, LostChange, User};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::copies::attributes::Attributes;
use crate::copies::beside::Place;
use crate::copies::module_copy::{Circumstances, Copy, NotAFile, open_copy};
use crate::copies::take_back::Plan;
use crate::copies::{content, other_names, stage};
use crate::link::StageNames;
use crate::rooms::modes::SET_ID;

/// Upper bound of the names in a report.
const MAX_STRAYS: usize = 64;

/// Directory of single-name write grants, while the module runs.
#[derive(Debug)]
pub(crate) struct Stage {
    names: StageNames,
    directory: OwnedFd,
    /// Names in the directory before the module ran, with what had them.
    present: BTreeMap<OsString, Identity>,
    files: Vec<Name>,
}

/// Identity of what has a name: number, and sort with mode.
type Identity = (u64, u32);

#[derive(Debug)]
struct Name {
    name: String,
    place: Place,
    /// The module's copy at the beginning.
    shown: Option<Attributes>,
}

/// Result of taking all files back.
#[derive(Debug, Default)]
pub(crate) struct TakenBack {
    pub(crate) lost: Vec<LostChange>,
    /// What the module left in its own `/tmp`.
    pub(crate) left_in_tmp: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Files whose set-id bits were not kept.
    pub(crate) lost_bits: Vec<LostBits>,
}

/// A file whose set-id bits were not kept.
#[derive(Debug)]
pub(crate) struct LostBits {
    pub(crate) path: PathBuf,
    /// The mode that it had.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Whether the owner is granted with them: a write took them away.
    pub(crate) granted: bool,
}

impl Stage {
    /// Records the state before the module runs.
    pub(crate) fn new(names: StageNames, directory: OwnedFd) -> io::Result<Self> {
        let mut files = Vec::new();
        for staged in &names.names {
            let parent = staged.host.parent().ok_or(Errno::INVAL)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let parent = rustix::fs::openat2(rustix::fs::CWD, parent, flags, Mode::empty(), resolve)?;
            let place = Place { path: staged.host.clone(), parent, was: staged.was };
            let shown = match stage::look(&directory, &staged.name)? {
                Some(stat) => {
                    let copy = open_copy(&directory, &staged.name, stat, u64::MAX)?;
                    // Opening it may have changed it.
                    Some(Attributes { stat: rustix::fs::fstat(&copy.file)?, ..copy.attributes })
                }
                None => None,
            };
            files.push(Name { name: staged.name.clone(), place, shown });
        }
        let present = list(&directory)?;
        Ok(Self { names, directory, present, files })
    }

    /// Returns the names, and the directory that holds them.
    pub(crate) fn directory(&self) -> (&StageNames, &OwnedFd) {
        (&self.names, &self.directory)
    }

    /// Returns the paths of files that the module made here beside its granted names; they are not kept.
    pub(crate) fn strays(&self) -> Vec<PathBuf> {
        if self.names.private || self.names.shows_machine {
            return Vec::new();
        }
        let found = list(&self.directory).unwrap_or_default();
        let strays = found.into_keys().filter(|name| !self.is_granted(name) && !self.present.contains_key(name));
        strays.take(MAX_STRAYS).map(|name| Path::new(&self.names.directory).join(name)).collect()
    }

    /// Returns what has not reached the machine: files that the module made beside its granted names, and, in a directory of
    /// the machine that it only reads, also links that it replaced or removed.
    fn unkept(&self) -> Vec<LostChange> {
        if !self.names.shows_machine {
            return self.strays().into_iter().map(|path| stray(&path)).collect();
        }
        let now = list(&self.directory).unwrap_or_default();
        let names: BTreeSet<&OsString> = self.present.keys().chain(now.keys()).collect();
        let changed =
            names.into_iter().filter(|name| !self.is_granted(name) && now.get(*name) != self.present.get(*name));
        let lost = |name: &OsString| {
            let path = Path::new(&self.names.directory).join(name);
            let what = if self.present.contains_key(name) { "changed" } else { "made" };
            let allow = allow_around(&path);
            let reason = format!(
                "the module has {what} it in a directory that is granted for reading alone, so it is not kept; allow it \
                 with `{allow}`"
            );
            LostChange { path: path.display().to_string(), reason, allow }
        };
        changed.take(MAX_STRAYS).map(lost).collect()
    }

    fn is_granted(&self, name: &OsString) -> bool {
        self.files.iter().any(|file| *name == *file.name)
    }
}

/// Takes all changed files back with the rights of a user, or none of them. Without a user, the rights are those of this
/// process.
pub(crate) fn take_back(stages: &[Stage], user: Option<&User>, circumstances: Circumstances<'_>) -> TakenBack {
    modbox_kernel::as_user(user, || take_all_back(stages, circumstances)).unwrap_or_else(|error| {
        let mut result = TakenBack::default();
        stages.iter().flat_map(|stage| &stage.files).for_each(|file| result.lose(&file.place.path, &error));
        result
    })
}

fn take_all_back(stages: &[Stage], circumstances: Circumstances<'_>) -> TakenBack {
    let mut plans = Vec::new();
    // A backup that the module has made is lost, so the file itself must not change either.
    let mut result = TakenBack { lost: stages.iter().flat_map(Stage::unkept).collect(), ..TakenBack::default() };
    for (stage, file) in stages.iter().flat_map(|stage| stage.files.iter().map(move |file| (stage, file))) {
        // The module may have closed its directory.
        let _ = rustix::fs::fchmod(&stage.directory, Mode::from_raw_mode(0o755));
        match file.plan(&stage.directory, circumstances) {
            Ok(Some(plan)) => plans.push(plan),
            Ok(None) => result.lost.extend(file.loss_of_sight(circumstances)),
            Err(error) => result.lose(&file.place.path, &error),
        }
    }
    let both: Vec<LostChange> =
        one_file(&plans).into_iter().map(|(first, second)| other_names::loss_of_both(first, second)).collect();
    if both.is_empty() {
        let linked = plans.iter().filter(|plan| plan.is_linked).filter_map(|plan| Some((plan.path(), plan.file()?)));
        let losses = linked.filter_map(|(path, file)| other_names::loss_of_change(circumstances.grants, path, &file));
        result.lost.extend(losses);
    }
    result.lost.extend(both);
    plans.sort_by_key(|plan| !plan.is_in_place());
    for plan in plans {
        let path = plan.path();
        if let Some(first) = result.lost.first() {
            let reason = format!("`{}` could not be taken back, so this one was left as it was", first.path);
            result.lose(path, &io::Error::other(reason));
            continue;
        }
        let lost = plan.lost_bits;
        match plan.finish() {
            Ok(()) => {
                if let Some(Stat { st_mode: mode, st_uid: uid, st_gid: gid, .. }) = lost {
                    let why = "since the module has written it or given it to another owner";
                    result.notes.push(format!("`{}` has lost its set-id bits, {why}", path.display()));
                    let granted = mode & SET_ID & !circumstances.own.set_id_bits(uid, gid) == 0;
                    result.lost_bits.push(LostBits { path: path.to_owned(), mode, uid, gid, granted });
                }
            }
            Err(error) => result.lose(path, &error),
        }
    }
    result
}

/// Returns the paths of plans for the same file of the machine, of which the module has had two copies.
fn one_file<'a>(plans: &[Plan<'a>]) -> Vec<(&'a Path, &'a Path)> {
    let mut known = BTreeMap::new();
    let file = |plan: &Plan<'a>| plan.file().map(|was| (was.device, was.inode));
    let paths = plans.iter().filter_map(|plan| Some((file(plan)?, plan.path())));
    paths.filter_map(|(file, path)| known.insert(file, path).map(|first| (first, path))).collect()
}

/// Drops the changes of a trial. Returns those that could not have been taken back, whatever the machine says.
pub(crate) fn drop_changes(stages: &[Stage]) -> TakenBack {
    let mut result = TakenBack { lost: stages.iter().flat_map(Stage::unkept).collect(), ..TakenBack::default() };
    for (stage, file) in stages.iter().flat_map(|stage| stage.files.iter().map(move |file| (stage, file))) {
        let copy = match stage::look(&stage.directory, &file.name) {
            Ok(Some(now)) if file.is_new_directory(&now) => Ok(()),
            Ok(Some(now)) => open_copy(&stage.directory, &file.name, now, u64::MAX).map(drop),
            looked => looked.map(drop),
        };
        if let Err(error) = copy {
            result.lose(&file.place.path, &error);
        }
    }
    result
}

impl TakenBack {
    fn lose(&mut self, path: &Path, error: &io::Error) {
        let made_other = error.get_ref().and_then(|error| error.downcast_ref::<NotAFile>());
        let allow = made_other.map(|_| allow_around(path)).unwrap_or_default();
        let remedy = if allow.is_empty() { String::new() } else { format!("; allow it with `{allow}`") };
        self.lost.push(LostChange { path: path.display().to_string(), reason: format!("{error}{remedy}"), allow });
    }
}

/// Returns the loss of a file that a module made beside the single ones that it was granted.
fn stray(path: &Path) -> LostChange {
    let allow = allow_around(path);
    let reason = format!(
        "the module has made it beside a file that is granted alone, so it is not kept; allow it with `{allow}`"
    );
    LostChange { path: path.display().to_string(), reason, allow }
}

/// Returns the option that grants the directory around a path, in which a module can make anything.
fn allow_around(path: &Path) -> String {
    path_option(Access::Write, path.parent().unwrap_or(path))
}

impl Name {
    /// Prepares to take the file back. Returns `None` if the module has not changed it.
    fn plan<'a>(&'a self, staged: &OwnedFd, circumstances: Circumstances<'a>) -> io::Result<Option<Plan<'a>>> {
        let now = stage::look(staged, &self.name)?;
        let Some(now) = now else {
            return self.shown.as_ref().map(|_| Plan::removal(&self.place, circumstances)).transpose();
        };
        if self.is_new_directory(&now) {
            return Plan::directory(&self.place, (staged, &self.name), circumstances).map(Some);
        }
        let copy = open_copy(staged, &self.name, now, circumstances.limit)?;
        match &self.shown {
            Some(shown) if is_unchanged(shown, &copy.attributes) => Ok(None),
            _ if self.is_made_by_others(&copy).unwrap_or(false) => Ok(None),
            shown => Plan::new(&self.place, shown.as_ref(), copy, circumstances).map(Some),
        }
    }

    /// Returns whether another process has made the same change meanwhile, such as a command outside that the module has started.
    fn is_made_by_others(&self, copy: &Copy) -> io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.place.parent, self.place.name(), flags, Mode::empty())?);
        let now = rustix::fs::fstat(&file)?;
        let own = |stat: &Stat| (stat.st_mode, stat.st_uid, stat.st_gid);
        let is_changed = Some(FileFingerprint::from(&now)) != self.place.was;
        Ok(is_changed && own(&now) == own(&copy.attributes.stat) && content::is_same(&copy.file, &file)?)
    }

    /// Returns whether the module has made a directory where there was nothing.
    fn is_new_directory(&self, now: &Stat) -> bool {
        self.place.was.is_none() && FileType::from_raw_mode(now.st_mode) == FileType::Directory
    }

    /// Returns the loss of a run that may have read what is no longer in the file, because the module changed it under another name.
    fn loss_of_sight(&self, circumstances: Circumstances<'_>) -> Option<LostChange> {
        let was = self.place.was.as_ref()?;
        let now = stage::look(&self.place.parent, self.place.name()).ok()??;
        let is_changed = FileFingerprint::from(&now) != *was && now.st_ino == was.inode && now.st_nlink > 1;
        is_changed.then(|| other_names::loss_of_sight(circumstances.grants, &self.place.path, was))?
    }
}

/// Returns whether a copy is as it was. Attributes are compared, too, since a clock may be too coarse for the time of
/// their change.
fn is_unchanged(before: &Attributes, now: &Attributes) -> bool {
    let own = |stat: &Stat| (stat.st_mode, stat.st_uid, stat.st_gid);
    FileFingerprint::from(&before.stat) == FileFingerprint::from(&now.stat)
        && own(&before.stat) == own(&now.stat)
        && before.xattrs == now.xattrs
}

fn list(directory: &OwnedFd) -> io::Result<BTreeMap<OsString, Identity>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, ".", flags, Mode::empty())?;
    let mut names = BTreeMap::new();
    for entry in rustix::fs::Dir::read_from(&opened)? {
        let name =
            OsString::from_vec(entry.map_err(|errno: Errno| io::Error::from(errno))?.file_name().to_bytes().to_vec());
        if name == "." || name == ".." {
            continue;
        }
        if let Some(stat) = stage::look(&opened, &name)? {
            names.insert(name, (stat.st_ino, stat.st_mode));
        }
    }
    Ok(names)
}
