//! A real tree, a view of it with all kinds of change, and a directory of transactions.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use modbox_overlay::change::{Change, ChangeKind};
use modbox_overlay::commit::fault::{Call, Fault, NoFault};
use modbox_overlay::commit::saved::{Hidden, SavedChanges, SavedError, Saving, save};
use modbox_overlay::commit::{
    CommitError, Committed, Granted, Only, Origin, OwnerRights, Recovered, Settings, Start, StateDir, Strength, commit,
    recover,
};
use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::tree_difference::{copy_tree, difference, read_entry};

/// More nanoseconds than the longest tick of the clock that the kernel gives files.
const PAST_TICK: i128 = 12_000_000;

/// State of each path: type with mode and owner, content, modification time of files, and attributes.
pub(crate) type Picture = BTreeMap<PathBuf, String>;

/// What hides no names and no lines.
pub(crate) const HIDES_NOTHING: Hidden<'_> = Hidden { names: &[], has_hidden_lines: &|_| false };

/// Directory of a test. It is removed at the end.
pub(crate) struct World {
    pub(crate) base: PathBuf,
    pub(crate) start: Start,
    /// Whose commits are.
    pub(crate) origin: Origin,
    pub(crate) _owned: Option<tempfile::TempDir>,
}

/// A fault at the n-th call, counted from 0.
pub(crate) struct At<'a> {
    pub(crate) at: usize,
    pub(crate) count: Cell<usize>,
    pub(crate) act: &'a dyn Fn(Call) -> Result<(), Errno>,
}

impl<'a> At<'a> {
    pub(crate) fn new(at: usize, act: &'a dyn Fn(Call) -> Result<(), Errno>) -> Self {
        Self { at, count: Cell::new(0), act }
    }
}

impl Fault for At<'_> {
    fn before(&self, call: Call) -> Result<(), Errno> {
        let count = self.count.replace(self.count.get() + 1);
        if count == self.at { (self.act)(call) } else { Ok(()) }
    }
}

impl World {
    /// Returns a tree of files, not yet changed.
    pub(crate) fn new() -> Self {
        // In memory if that can be had: thousands of trees are made.
        let memory = Path::new("/dev/shm");
        let owned = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let planted = Self::planted(owned.path().to_path_buf());
        Self { _owned: Some(owned), ..planted }
    }

    /// Fills an empty directory.
    fn planted(base: PathBuf) -> Self {
        plant(&base.join("real"));
        std::fs::create_dir(base.join("etc")).unwrap();
        write(&base.join("etc/hosts"), "localhost\n");
        let start = Start::settled();
        copy_tree(&base.join("real"), &base.join("view"));
        std::fs::create_dir(base.join("stage")).unwrap();
        copy_tree(&base.join("etc/hosts"), &base.join("stage/0"));
        Self { base, start, origin: Origin::Person, _owned: None }
    }

    /// Opens the directory of another process's test.
    pub(crate) fn open(base: PathBuf, start: Start) -> Self {
        Self { base, start, origin: Origin::Person, _owned: None }
    }

    /// Returns a tree with all kinds of change in its view.
    pub(crate) fn changed() -> Self {
        let world = Self::new();
        change_all(&world.base);
        world
    }

    /// Makes a directory with a tree, and with all kinds of change in its view.
    pub(crate) fn changed_in(base: PathBuf) -> Self {
        std::fs::create_dir(&base).unwrap();
        let world = Self::planted(base);
        change_all(&world.base);
        world
    }

    pub(crate) fn real(&self, path: &str) -> PathBuf {
        self.base.join("real").join(path)
    }

    pub(crate) fn view(&self, path: &str) -> PathBuf {
        self.base.join("view").join(path)
    }

    pub(crate) fn state(&self) -> StateDir {
        StateDir::open(&self.base.join("state")).unwrap()
    }

    /// Returns the differences of the view. Two of them are told as renames.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut changes = difference(&self.base.join("real"), &self.base.join("view"));
        for (from, to) in [("moved", "moved-to"), ("moved-tree", "moved-tree-to")] {
            let is_moved = changes.iter().any(|c| c.path == Path::new(from) && c.after.is_none())
                && changes.iter().any(|c| c.path == Path::new(to) && c.before.is_none());
            if is_moved {
                let before = changes.iter().find(|c| c.path == Path::new(from)).unwrap().before.clone();
                changes.retain(|c| !c.path.starts_with(from));
                let moved = changes.iter_mut().find(|c| c.path == Path::new(to)).unwrap();
                (moved.kind, moved.before) = (ChangeKind::Renamed { from: from.into() }, before);
            }
        }
        changes
    }

    pub(crate) fn name_changes(&self) -> Vec<Change> {
        let (before, after) = (read_entry(&self.base.join("etc/hosts")), read_entry(&self.base.join("stage/0")));
        let kind = ChangeKind::Modified;
        if before == after { Vec::new() } else { vec![Change { path: PathBuf::new(), kind, before, after }] }
    }

    pub(crate) fn commit(&self, fault: &dyn Fault) -> Result<Committed, CommitError> {
        self.commit_with(fault, Strength::Process, false)
    }

    pub(crate) fn commit_with(
        &self,
        fault: &dyn Fault,
        strength: Strength,
        keep_undo: bool,
    ) -> Result<Committed, CommitError> {
        self.commit_list(self.changes(), fault, strength, keep_undo)
    }

    pub(crate) fn commit_list(
        &self,
        changes: Vec<Change>,
        fault: &dyn Fault,
        strength: Strength,
        keep_undo: bool,
    ) -> Result<Committed, CommitError> {
        let state = self.state();
        let owners = |_, _| OwnerRights::to_own(true);
        let settings =
            Settings { owners: &owners, strength, keep_undo, origin: &self.origin, hidden: &[], state: &state, fault };
        self.on_grants(changes, |grants| commit(grants, settings))
    }

    /// Commits with the right to set these set-id bits.
    pub(crate) fn commit_setting(&self, set_id: u32) -> Committed {
        let (state, strength) = (self.state(), Strength::Process);
        let owners = move |_, _| OwnerRights { may_own: true, set_id };
        let settings = Settings {
            owners: &owners,
            strength,
            keep_undo: false,
            origin: &self.origin,
            hidden: &[],
            state: &state,
            fault: &NoFault,
        };
        self.on_grants(self.changes(), |grants| commit(grants, settings)).unwrap()
    }

    /// Waits until the clock of file times is further than a tick behind the start. A change within a tick is a conflict for
    /// another reason.
    pub(crate) fn wait_for_tick(&self) {
        let probe = self.base.join("probe");
        let is_past = || {
            std::fs::write(&probe, "x").unwrap();
            let changed = std::fs::metadata(&probe).unwrap();
            let changed = i128::from(changed.ctime()) * 1_000_000_000 + i128::from(changed.ctime_nsec());
            changed > self.start.realtime + PAST_TICK
        };
        while !is_past() {
            std::thread::yield_now();
        }
        std::fs::remove_file(probe).unwrap();
    }

    /// Saves the changes as a new file, and returns its path.
    pub(crate) fn save(&self) -> PathBuf {
        let path = self.base.join("saved");
        let saving = self
            .on_grants(self.changes(), |grants| save(&path, grants, &|_, _| OwnerRights::to_own(true), HIDES_NOTHING))
            .unwrap();
        assert_eq!(saving, Saving::Saved);
        path
    }

    /// Commits what a file says.
    pub(crate) fn commit_saved(&self, path: &Path) -> Result<Committed, SavedError> {
        let (state, scratch) = (self.state(), self.base.join("scratch"));
        std::fs::create_dir_all(&scratch).unwrap();
        let owners = |_, _| OwnerRights::to_own(true);
        let strength = Strength::Process;
        let settings = Settings {
            owners: &owners,
            strength,
            keep_undo: true,
            origin: &self.origin,
            hidden: &[],
            state: &state,
            fault: &NoFault,
        };
        let read = SavedChanges::read(path, File::open(path).unwrap());
        let committed = read.and_then(|saved| saved.commit(&scratch, settings));
        assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
        committed
    }

    pub(crate) fn on_grants<T>(&self, changes: Vec<Change>, act: impl FnOnce(&[Granted<'_>]) -> T) -> T {
        let open = |name: &str| File::open(self.base.join(name)).unwrap();
        let (real, view, etc, stage) = (open("real"), open("view"), open("etc"), open("stage"));
        let only = Only { name: "hosts".into(), staged: "0".into() };
        let tree = Granted {
            path: self.base.join("real"),
            real: real.as_fd(),
            view: view.as_fd(),
            only: None,
            changes,
            start: self.start,
        };
        let name = Granted {
            path: self.base.join("etc"),
            real: etc.as_fd(),
            view: stage.as_fd(),
            only: Some(only),
            changes: self.name_changes(),
            start: self.start,
        };
        act(&[tree, name])
    }

    pub(crate) fn recover(&self) -> Vec<Recovered> {
        recover(&self.state(), &NoFault).unwrap()
    }

    /// Returns the state of the real files.
    pub(crate) fn picture(&self) -> Picture {
        let mut picture = picture(&self.base.join("real"));
        picture.extend(one_picture(&self.base.join("etc/hosts")).map(|one| (PathBuf::from("/etc/hosts"), one)));
        let strays = std::fs::read_dir(self.base.join("etc")).unwrap().flatten().map(|entry| entry.path());
        picture.extend(strays.filter(|path| !path.ends_with("hosts")).map(|path| (path, "stray".to_owned())));
        picture
    }

    /// Returns the state that a commit leads to.
    pub(crate) fn wanted(&self) -> Picture {
        let mut wanted = picture(&self.base.join("view"));
        wanted.extend(one_picture(&self.base.join("stage/0")).map(|one| (PathBuf::from("/etc/hosts"), one)));
        wanted
    }

    /// Returns the names of transactions of which the directory of transactions has something.
    pub(crate) fn records(&self) -> Vec<String> {
        let Ok(list) = std::fs::read_dir(self.base.join("state")) else { return Vec::new() };
        let names = list.flatten().map(|entry| entry.file_name().into_string().unwrap());
        let names = names.filter(|name| name != "lock");
        let names: BTreeSet<String> = names.map(|name| name.split('.').next().unwrap().to_owned()).collect();
        names.into_iter().collect()
    }
}

fn plant(real: &Path) {
    for dir in ["a", "gone-tree/sub", "dir-to-file/sub", "attr-dir", "moved-tree/in"] {
        std::fs::create_dir_all(real.join(dir)).unwrap();
    }
    for file in [
        "a/modified",
        "a/attributes",
        "a/times",
        "a/gone",
        "a/file-to-dir",
        "a/file-to-link",
        "a/same",
        "moved",
        "gone-tree/one",
        "gone-tree/sub/two",
        "dir-to-file/sub/one",
        "attr-dir/in",
        "moved-tree/in/file",
    ] {
        write(&real.join(file), &format!("old {file}\n"));
    }
    symlink("nowhere", real.join("a/link")).unwrap();
}

fn change_all(base: &Path) {
    let view = base.join("view");
    write(&view.join("a/modified"), "new content that is longer\n");
    set_xattr(&view.join("a/modified"));
    set_mode(&view.join("a/attributes"), 0o640);
    let times = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000));
    File::options().write(true).open(view.join("a/times")).unwrap().set_times(times).unwrap();
    std::fs::remove_file(view.join("a/gone")).unwrap();
    std::fs::remove_dir_all(view.join("gone-tree")).unwrap();
    std::fs::remove_file(view.join("a/file-to-dir")).unwrap();
    std::fs::create_dir(view.join("a/file-to-dir")).unwrap();
    write(&view.join("a/file-to-dir/in"), "in\n");
    std::fs::remove_dir_all(view.join("dir-to-file")).unwrap();
    write(&view.join("dir-to-file"), "a file now\n");
    std::fs::remove_file(view.join("a/file-to-link")).unwrap();
    symlink("modified", view.join("a/file-to-link")).unwrap();
    std::fs::remove_file(view.join("a/link")).unwrap();
    symlink("same", view.join("a/link")).unwrap();
    set_mode(&view.join("attr-dir"), 0o2750);
    set_xattr(&view.join("attr-dir"));
    std::fs::create_dir_all(view.join("tree/sub")).unwrap();
    write(&view.join("tree/sub/file"), "deep\n");
    symlink("sub/file", view.join("tree/link")).unwrap();
    set_mode(&view.join("tree/sub"), 0o500);
    write(&view.join(OsStr::from_bytes(b"not utf-8 \xff\n\"")), "name\n");
    write(&view.join("linked-1"), "two names\n");
    std::fs::hard_link(view.join("linked-1"), view.join("linked-2")).unwrap();
    std::fs::rename(view.join("moved"), view.join("moved-to")).unwrap();
    std::fs::rename(view.join("moved-tree"), view.join("moved-tree-to")).unwrap();
    write(&view.join("attr-dir/in"), "both it and its directory\n");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::lchown(view.join("a/attributes"), Some(1234), Some(1235)).unwrap();
    }
    write(&base.join("stage/0"), "localhost\nother\n");
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn set_xattr(path: &Path) {
    rustix::fs::setxattr(path, "user.modbox-test", b"value", XattrFlags::empty()).unwrap();
}

/// Returns the state of all entries below a directory.
pub(crate) fn picture(root: &Path) -> Picture {
    let mut found = Picture::new();
    let mut rest = vec![PathBuf::new()];
    while let Some(path) = rest.pop() {
        let full = root.join(&path);
        let Some(one) = one_picture(&full) else { continue };
        found.insert(path.clone(), one);
        if full.symlink_metadata().unwrap().is_dir() {
            let list = std::fs::read_dir(&full).unwrap().flatten();
            rest.extend(list.map(|entry| path.join(entry.file_name())));
        }
    }
    found
}

pub(crate) fn one_picture(path: &Path) -> Option<String> {
    let stat = path.symlink_metadata().ok()?;
    let content = if stat.is_file() {
        String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
    } else if stat.is_symlink() {
        std::fs::read_link(path).unwrap().display().to_string()
    } else {
        String::new()
    };
    let modified =
        if stat.is_dir() { 0 } else { i128::from(stat.mtime()) * 1_000_000_000 + i128::from(stat.mtime_nsec()) };
    let xattrs = read_entry(path).map(|entry| entry.xattrs).unwrap_or_default();
    let links = if stat.is_dir() { 0 } else { stat.nlink() };
    Some(format!("{:o} {}:{} {modified} {links} {xattrs:?} {content:?}", stat.mode(), stat.uid(), stat.gid()))
}
