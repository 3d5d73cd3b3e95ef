//! A temporary directory for each test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{leftovers, temporary};

/// The directory of a test, with home, temporary files and cache for the programs that it runs. Removed when dropped.
#[derive(Debug)]
pub struct TestDir {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl TestDir {
    /// Creates a directory with empty `home` and `tmp`.
    #[expect(clippy::new_without_default, reason = "making one has an effect")]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("test-").tempdir_in(temporary()).unwrap();
        let path = dir.path().canonicalize().unwrap();
        for own in ["home", "tmp"] {
            fs::create_dir(path.join(own)).unwrap();
        }
        Self { dir, path }
    }

    /// Returns the absolute path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the absolute path of `name` in the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Creates a directory in it, with its parents.
    pub fn mkdir(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Writes a file in it, and creates the parent directories.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes an executable file.
    pub fn write_executable(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the folder in which modbox creates scratch directories.
    pub fn scratch_root(&self) -> PathBuf {
        self.join("tmp").join(format!("modbox-{}", rustix::process::geteuid().as_raw()))
    }

    /// Asserts that the runs of this test have left no process and no temporary file.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        leftovers::assert_none(self);
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        // Restore permissions that a test may have removed, since removing the directory needs them.
        let mut pending = vec![self.dir.path().to_owned()];
        while let Some(dir) = pending.pop() {
            let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            pending.extend(entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
        }
    }
}
