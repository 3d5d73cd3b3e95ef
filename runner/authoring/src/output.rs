//! The directory of a project's components and their stamps.
//!
//! Each file is written completely and then renamed into place, and one build at a time writes there, so that a
//! component and its stamp always belong together.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use modbox_cleanup::Cleanup;

use crate::context::AuthoringContext;
use crate::error::BuildError;
use crate::stamp::{FileState, Moment, Stamp};

/// First bytes of every component: the magic number, version 13, layer 1.
const COMPONENT_START: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// Output directory, locked against other builds while this value lives.
#[derive(Debug)]
pub(crate) struct OutputDir {
    dir: PathBuf,
    _lock: File,
}

impl OutputDir {
    /// Makes the directory if it does not exist, and waits for other builds of the project.
    pub(crate) fn open(cx: &mut AuthoringContext<'_>, project: &Path) -> Result<Self, BuildError> {
        let dir = directory(project);
        fs::create_dir_all(&dir).map_err(failed("make", &dir))?;
        // A member of a workspace has no `target` of its own, and the workspace's ignore rules may not cover one.
        let ignore = dir.join(".gitignore");
        fs::write(&ignore, "*\n").map_err(failed("write", &ignore))?;
        let path = dir.join(".lock");
        let lock = File::create(&path).map_err(failed("write", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                cx.say(&format!("waiting for another build of `{}`", project.display()));
                lock.lock().map_err(failed("lock", &path))?;
            }
            // Some file systems do not support locks. Files are still complete, because of the renames.
            Err(TryLockError::Error(_)) => {}
        }
        Ok(Self { dir, _lock: lock })
    }

    /// Returns the path of a binary's component.
    pub(crate) fn component_path(project: &Path, binary: &str) -> PathBuf {
        directory(project).join(format!("{binary}.wasm"))
    }

    /// Returns the path of the stamp of a build for the chosen binary, or for the default one.
    pub(crate) fn stamp_path(project: &Path, chosen: Option<&str>) -> PathBuf {
        directory(project).join(stamp_name(chosen))
    }

    /// Returns the current time of the file system's clock, which may differ from this machine's.
    pub(crate) fn now(&self) -> Result<Moment, BuildError> {
        let path = self.dir.join(".lock");
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(b"\n")?;
            file.metadata()
        });
        Ok(FileState::from_metadata(&written.map_err(failed("write", &path))?).modified)
    }

    /// Copies cargo's output into place, if it is a component.
    ///
    /// It is a copy, because the next build by hand may overwrite cargo's file while a module runs from this one.
    pub(crate) fn install(
        &self,
        cleanup: &Cleanup,
        program: &Path,
        binary: &str,
    ) -> Result<(PathBuf, FileState), BuildError> {
        let mut from = File::open(program).map_err(failed("read", program))?;
        let mut start = [0; COMPONENT_START.len()];
        let is_component = from.read_exact(&mut start).is_ok() && start == COMPONENT_START;
        if !is_component {
            return Err(BuildError::NotAComponent { path: program.to_owned() });
        }
        let readable = |mut from: &File| {
            from.rewind()?;
            from.metadata()
        };
        // Executable, as cargo makes it: a kernel with support for components can start it.
        let mode = readable(&from).map_err(failed("read", program))?.permissions().mode();
        let path = self.dir.join(format!("{binary}.wasm"));
        let state = self.put(cleanup, &path, mode, &mut from).map_err(failed("write", &path))?;
        Ok((path, state))
    }

    /// Writes the output of other tools than cargo into place.
    pub(crate) fn install_bytes(
        &self,
        cleanup: &Cleanup,
        bytes: &[u8],
        name: &str,
    ) -> Result<(PathBuf, FileState), BuildError> {
        let path = self.dir.join(format!("{name}.wasm"));
        let state = self.put(cleanup, &path, 0o755, &mut &*bytes).map_err(failed("write", &path))?;
        Ok((path, state))
    }

    /// Writes the stamp, or removes the old one if `stamp` is `None`.
    pub(crate) fn write_stamp(
        &self,
        cleanup: &Cleanup,
        chosen: Option<&str>,
        stamp: Option<&Stamp>,
    ) -> Result<(), BuildError> {
        let path = self.dir.join(stamp_name(chosen));
        let written = match stamp {
            Some(stamp) => {
                stamp.to_bytes().and_then(|bytes| self.put(cleanup, &path, 0o644, &mut bytes.as_slice())).map(|_| ())
            }
            None => fs::remove_file(&path).or_else(|err| match err.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(err),
            }),
        };
        written.map_err(failed("write", &path))
    }

    fn put(&self, cleanup: &Cleanup, path: &Path, mode: u32, from: &mut dyn Read) -> io::Result<FileState> {
        // The lock makes one name enough. Leftovers of an earlier build after SIGKILL are overwritten.
        let part = self.dir.join(".part");
        let doomed = part.clone();
        let guard = cleanup.register(move || {
            let _ = fs::remove_file(doomed);
        });
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&part)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        io::copy(from, &mut file)?;
        let state = FileState::from_metadata(&file.metadata()?);
        fs::rename(&part, path)?;
        guard.disarm();
        Ok(state)
    }
}

fn directory(project: &Path) -> PathBuf {
    project.join("target").join("modbox")
}

fn stamp_name(chosen: Option<&str>) -> String {
    chosen.map_or_else(|| ".stamp".to_owned(), |binary| format!(".stamp-{binary}"))
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::File { verb, path, source }
}
