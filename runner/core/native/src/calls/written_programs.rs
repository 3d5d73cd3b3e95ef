//! Files with set-id bits that a module of root writes in their place, so that they lose the bits.
//!
//! Linux takes these bits away when a process writes a file, unless it has `CAP_FSETID` in the first user namespace. Root has that,
//! and a module that runs as root in a room has not: no capability of a room counts there, and without namespaces the module has
//! none. So the same module leaves another mode than without modbox, and its result must say so. Nothing can be kept: the mode that
//! the module sees while it runs is without the bits, too.
//!
//! The filter reports each call that opens a file for writing. The launcher looks at the file before the call goes on, keeps a
//! descriptor of one with such bits, and looks again when the module has ended. What a module writes in the copy of a single file
//! is compared when that is taken back; see `take_back`.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use modbox_kernel::ReportedCall;
use rustix::fs::{FileType, Stat};

use crate::caller::call_arguments::{follows, low, named_path};
use crate::calls::attribute_calls;
use crate::calls::owners;
use crate::calls::reported_calls::CallEffect;
use crate::rooms::modes::SET_ID;
use crate::rooms::room::Room;

/// Maximum number of files, each of which holds a descriptor; more are not useful in a report.
const MAX_FILES: usize = 64;

/// Opening flags by which the content of a file changes.
const CHANGES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC;

/// The files by device and number.
#[derive(Debug, Default)]
pub(crate) struct WrittenPrograms {
    files: BTreeMap<(u64, u64), Program>,
}

#[derive(Debug)]
struct Program {
    path: PathBuf,
    file: OwnedFd,
    before: Stat,
    /// Whether it was opened for writing. Else its bits were set, and it may be open already.
    is_opened: bool,
}

impl WrittenPrograms {
    /// Keeps the file of a call that opens it for writing, if it has set-id bits.
    pub(crate) fn note_open(&mut self, report: &ReportedCall, effect: CallEffect, room: &Room) {
        let (directory, path) = match effect {
            CallEffect::Open { directory, path, flags } if has(report, flags, CHANGES) => (directory, path),
            #[cfg(target_arch = "x86_64")]
            CallEffect::Make { directory, path } if report.number == libc::SYS_creat => (directory, path),
            CallEffect::Change { directory, path } if report.number == libc::SYS_truncate => (directory, path),
            _ => return,
        };
        if let Some(path) = named_path(report, directory, path) {
            self.note(report, path, follows(report), true, room);
        }
    }

    /// Keeps the file of a call by which the launcher has set set-id bits in the place of the module.
    pub(crate) fn note_set(&mut self, report: &ReportedCall, room: &Room) {
        if let Some(call) = attribute_calls::mode_call(report) {
            self.note(report, call.path, call.follow, false, room);
        }
    }

    fn note(&mut self, report: &ReportedCall, path: PathBuf, follow: bool, is_opened: bool, room: &Room) {
        let Some(root) = owners::module_root(report) else { return };
        let Some(file) = owners::open_in(&root, &path, follow) else { return };
        let Ok(before) = rustix::fs::fstat(&file) else { return };
        let is_program =
            FileType::from_raw_mode(before.st_mode) == FileType::RegularFile && before.st_mode & SET_ID != 0;
        // What is in a directory of the module's own is gone in the end.
        if !is_program || self.files.len() >= MAX_FILES || owners::is_in_own_mount(&root, &file, room) {
            return;
        }
        // Without the links on the way.
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or(path);
        let program = self.files.entry((before.st_dev, before.st_ino));
        program.or_insert(Program { path, file, before, is_opened }).is_opened |= is_opened;
    }

    /// Follows files to the name that a module gives them.
    pub(crate) fn rename(&mut self, from: &Path, to: &Path) {
        self.files.values_mut().filter(|program| program.path == from).for_each(|program| program.path = to.to_owned());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files that are still there and have lost bits.
    pub(crate) fn into_lost(self) -> impl Iterator<Item = PathBuf> {
        self.files.into_values().filter(Program::has_lost_bits).map(|program| program.path)
    }
}

impl Program {
    fn has_lost_bits(&self) -> bool {
        let Ok(now) = rustix::fs::fstat(&self.file) else { return false };
        let content = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        // A module that has only set another mode wanted that.
        let may_be_written = self.is_opened || content(&now) != content(&self.before);
        now.st_nlink > 0 && may_be_written && self.before.st_mode & SET_ID & !now.st_mode != 0
    }
}

fn has(report: &ReportedCall, flags: usize, some: i32) -> bool {
    report.arguments.get(flags).is_some_and(|flags| low(*flags) & some != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Returns a file with set-id bits as it is kept, and the file.
    fn program(path: &Path, is_opened: bool) -> (WrittenPrograms, File) {
        let file = File::create(path).unwrap();
        file.set_permissions(Permissions::from_mode(0o4755)).unwrap();
        let before = rustix::fs::fstat(&file).unwrap();
        let kept = Program { path: path.to_owned(), file: file.try_clone().unwrap().into(), before, is_opened };
        (WrittenPrograms { files: [((before.st_dev, before.st_ino), kept)].into() }, file)
    }

    fn lost(programs: WrittenPrograms) -> Vec<PathBuf> {
        programs.into_lost().collect()
    }

    #[test]
    fn files_that_lose_their_bits_are_named_as_they_are_in_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("program"), dir.path().join("moved"));
        let plain = Permissions::from_mode(0o755);
        assert!(lost(program(&path, true).0).is_empty(), "it has its bits");
        let (mut programs, file) = program(&path, true);
        file.set_permissions(plain.clone()).unwrap();
        programs.rename(&dir.path().join("other"), &path);
        programs.rename(&path, &moved);
        assert_eq!(lost(programs), [moved]);
        let (programs, file) = program(&path, true);
        file.set_permissions(plain.clone()).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(lost(programs).is_empty(), "it is gone");
        // Of a file whose bits the module has set, a later mode without them is its own choice.
        let (programs, file) = program(&path, false);
        file.set_permissions(plain.clone()).unwrap();
        assert!(lost(programs).is_empty());
        let (programs, file) = program(&path, false);
        file.set_len(9).unwrap();
        file.set_permissions(plain).unwrap();
        assert_eq!(lost(programs), [path]);
    }
}
