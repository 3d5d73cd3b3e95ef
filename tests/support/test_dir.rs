//! A directory for each test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{leftovers, temporary};

/// A test's own directory: home, temporary files and cache of whatever it runs lie in it. Removed at the end.
#[derive(Debug)]
pub struct TestDir {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl TestDir {
    /// Makes an empty one.
    #[expect(clippy::new_without_default, reason = "making one has an effect")]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("test-").tempdir_in(temporary()).unwrap();
        let path = dir.path().canonicalize().unwrap();
        for own in ["home", "tmp"] {
            fs::create_dir(path.join(own)).unwrap();
        }
        Self { dir, path }
    }

    /// Returns its absolute path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the absolute path of something in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a directory in it.
    pub fn mkdir(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Writes a file into it, with the directories on the way.
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

    /// Returns the folder in which modbox makes the directories of its runs.
    pub fn scratch_root(&self) -> PathBuf {
        self.join("tmp").join(format!("modbox-{}", rustix::process::geteuid().as_raw()))
    }

    /// Asserts that no process and no temporary file is left of what this test ran.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        leftovers::assert_none(self);
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        // A test may have taken rights away; removal needs them back.
        let mut pending = vec![self.dir.path().to_owned()];
        while let Some(dir) = pending.pop() {
            let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            pending.extend(entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
        }
    }
}
