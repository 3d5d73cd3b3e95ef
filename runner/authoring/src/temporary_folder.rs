//! A folder that is removed at the end of its use, also when a signal ends the process.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use modbox_cleanup::{Cleanup, UndoGuard};
use tempfile::TempDir;

/// Folder that is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    dir: TempDir,
    undo: UndoGuard,
}

impl TemporaryFolder {
    /// Makes a folder with a new name in `parent`. The umask restricts its mode.
    pub(crate) fn create(cleanup: &Cleanup, parent: &Path, prefix: &str, mode: u32) -> io::Result<Self> {
        let (dir, undo) = cleanup.make(|| {
            let permissions = Permissions::from_mode(mode);
            let dir = tempfile::Builder::new().prefix(prefix).permissions(permissions).tempdir_in(parent)?;
            let doomed = dir.path().to_owned();
            Ok((dir, move || drop(fs::remove_dir_all(doomed))))
        })?;
        Ok(Self { dir, undo })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Renames the folder, which then stays.
    pub(crate) fn publish(self, to: &Path) -> io::Result<()> {
        fs::rename(self.dir.path(), to)?;
        self.undo.disarm();
        let _ = self.dir.keep();
        Ok(())
    }
}
