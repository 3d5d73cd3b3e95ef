//! Makes the tree of a case, and removes it.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, mknodat, utimensat};
use rustix::process::geteuid;

use crate::twin::case::{Case, Entry, EntryKind, USER, placed};

/// Makes the tree of a case at a path that does not exist. An entry whose folder or file is not there is left out: a case that
/// was made smaller has such.
pub(crate) fn make(case: &Case, here: &Path) {
    fs::create_dir(here).expect("the folder of a case can be made");
    let made: Vec<&Entry> = case.entries.iter().filter(|entry| make_entry(entry, here).is_ok()).collect();
    // Children come before their folders, whose times they would change and whose modes can bar the way.
    for entry in made.into_iter().rev() {
        finish(case, entry, here);
    }
    give(case, false, here);
    fs::set_permissions(here, Permissions::from_mode(0o755)).expect("the mode of the case's folder can be set");
    set_time(here, (1_500_000_000, 0));
}

/// Removes trees in a thread of its own, since that takes as long as making them.
pub(crate) struct Remover {
    folders: Option<mpsc::Sender<PathBuf>>,
    thread: Option<JoinHandle<()>>,
    removed: Cell<usize>,
}

impl Remover {
    /// Starts the thread.
    pub(crate) fn new() -> Self {
        let (folders, removed) = mpsc::channel::<PathBuf>();
        let remove = move || {
            for folder in removed {
                if !geteuid().is_root() {
                    open_all(&folder);
                }
                // What is left here goes with the folder of all cases.
                let _ = fs::remove_dir_all(&folder);
            }
        };
        Self { folders: Some(folders), thread: Some(thread::spawn(remove)), removed: Cell::new(0) }
    }

    /// Puts an empty folder in the place of one with trees, which is removed.
    pub(crate) fn remove(&self, trees: &Path) {
        let number = self.removed.replace(self.removed.get() + 1);
        let away = trees.with_file_name(format!("removed-{number}"));
        fs::rename(trees, &away).expect("the folder of the trees can be renamed");
        fs::create_dir(trees).expect("a new folder can be made");
        self.folders.as_ref().expect("it is there until the end").send(away).expect("the thread lives as long");
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        drop(self.folders.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Restores the rights to remove what is in a folder.
fn open_all(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_all(&entry.path());
        }
    }
}

/// Returns the path of an entry.
pub(crate) fn at(path: &[u8], here: &Path) -> PathBuf {
    here.join(OsStr::from_bytes(path))
}

fn make_entry(entry: &Entry, here: &Path) -> io::Result<()> {
    let path = at(&entry.path, here);
    match &entry.kind {
        EntryKind::Folder => fs::create_dir(path),
        EntryKind::File(length) => fs::write(path, contents(*length)),
        EntryKind::Link(target) => symlink(OsStr::from_bytes(&placed(target, here)), path),
        EntryKind::HardLink(to) => fs::hard_link(at(to, here), path),
        EntryKind::Fifo => Ok(mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?),
    }
}

fn contents(length: usize) -> Vec<u8> {
    b"0123456789abcdefghijklmnopqrstuvwxyz\n".iter().copied().cycle().take(length).collect()
}

/// Sets owner, mode and time. Another name of a file has those of the file.
fn finish(case: &Case, entry: &Entry, here: &Path) {
    let path = at(&entry.path, here);
    match entry.kind {
        EntryKind::HardLink(_) => return,
        EntryKind::Link(_) => give(case, entry.is_foreign, &path),
        _ => {
            give(case, entry.is_foreign, &path);
            fs::set_permissions(&path, Permissions::from_mode(entry.mode)).expect("the mode of an entry can be set");
        }
    }
    set_time(&path, entry.time);
}

/// Gives a file to the user who performs the calls, or to another one. Only root can.
fn give(case: &Case, is_foreign: bool, path: &Path) {
    if geteuid().is_root() {
        let user = match (case.setting.user, is_foreign) {
            (None, false) | (Some(_), true) => 0,
            (None, true) => USER,
            (Some(user), false) => user,
        };
        lchown(path, Some(user), Some(user)).expect("root can give files away");
    }
}

fn set_time(path: &Path, (tv_sec, tv_nsec): (i64, i64)) {
    let time = Timespec { tv_sec, tv_nsec };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("the time of an entry can be set");
}
