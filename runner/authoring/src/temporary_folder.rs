//! A folder that is removed at the end of its use, also when a signal ends the process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use modbox_cleanup::{Cleanup, UndoGuard};
use tempfile::TempDir;

/// The variable with the folder of temporary files.
const VARIABLE: &str = "TMPDIR";

/// How often it is tried to remove a folder in which a tool that was told to end still makes files.
const TRIES: u32 = 50;

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(10);

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
            Ok((dir, move || remove(&doomed)))
        })?;
        Ok(Self { dir, undo })
    }

    /// Makes a folder for the temporary files of a tool, and names it in the tool's variables. A tool that is killed removes nothing.
    pub(crate) fn for_tool(cleanup: &Cleanup, env: &mut BTreeMap<OsString, OsString>) -> io::Result<Self> {
        let parent = env.get(OsStr::new(VARIABLE)).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let folder = Self::create(cleanup, &parent, "modbox-tool-", 0o700)?;
        env.insert(VARIABLE.into(), folder.path().into());
        Ok(folder)
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

fn remove(folder: &Path) {
    for _ in 0..TRIES {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
            _ => return,
        }
    }
}
