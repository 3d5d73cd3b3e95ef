//! Files with set-id bits that a guest of root writes in their place, so that they lose the bits.
//!
//! Linux takes these bits away when a process writes a file, unless it has `CAP_FSETID`: root has that, and a worker has not. So a
//! guest of root leaves another mode than the same program without a sandbox, and the result must say so. For other users Linux
//! does the same without one.
//!
//! This file does not decide who may set such bits; see `attributes`.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::Stat;

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// Maximum number of files, each of which is kept open; more are not useful in a report.
const MAX_FILES: usize = 16;

/// The files of one run.
#[derive(Debug, Default)]
pub(crate) struct WrittenPrograms(Mutex<Vec<Program>>);

#[derive(Debug)]
struct Program {
    /// The path in the guest.
    path: String,
    file: Arc<File>,
    /// The bits that it had when it was opened.
    bits: u32,
}

impl WrittenPrograms {
    /// Keeps a file that a guest of root has opened for writing, if it had set-id bits in `mode` before that.
    pub(crate) fn note(&self, path: impl FnOnce() -> String, file: &Arc<File>, mode: u32) {
        let bits = mode & SET_ID;
        if bits == 0 || !rustix::process::geteuid().is_root() {
            return;
        }
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() < MAX_FILES {
            programs.push(Program { path: path(), file: Arc::clone(file), bits });
        }
    }

    /// Returns the paths of files that are still there and have lost bits.
    pub(crate) fn lost(&self) -> Vec<String> {
        let programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_lost = |program: &&Program| {
            let now = rustix::fs::fstat(&program.file);
            now.is_ok_and(|now: Stat| now.st_nlink > 0 && program.bits & !now.st_mode != 0)
        };
        programs.iter().filter(is_lost).map(|program| program.path.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_that_lose_their_bits_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let path = dir.path().join(name);
            let file = fs::File::create(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o4755)).unwrap();
            Arc::new(file)
        };
        let programs = WrittenPrograms::default();
        for name in ["kept", "lost", "gone", "plain"] {
            programs.note(|| name.to_owned(), &open(name), if name == "plain" { 0o755 } else { 0o4755 });
        }
        for name in ["lost", "gone", "plain"] {
            fs::set_permissions(dir.path().join(name), Permissions::from_mode(0o755)).unwrap();
        }
        fs::remove_file(dir.path().join("gone")).unwrap();
        let expect: &[&str] = if rustix::process::geteuid().is_root() { &["lost"] } else { &[] };
        assert_eq!(programs.lost(), expect);
    }
}
