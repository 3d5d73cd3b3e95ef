//! Replaces and copies whole files (`atomic_move`, `backup_local` of ansible-core 2.19).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::file_error::{words, write_cause};
use crate::files::mode::written;
use crate::module::Module;
use crate::platform::{self, Lost};
use crate::replacement::{privately, replace, warn_of_lost};
use crate::result::Failure;

/// The set-user-id and set-group-id bits.
const SET_IDS: u32 = 0o6000;

/// The permissions of a new file, before the umask.
const NEW: u32 = 0o666;

impl Module {
    /// Moves a file so that readers see the old file or the new one. With `keep_dest_attrs`, it keeps mode and owner of
    /// the replaced file; a new file gets those of new files. If renaming is not possible, the file is first copied to
    /// the target's folder. With `unsafe_writes`, it is overwritten if even that is not possible. A component also
    /// overwrites the target if it lacks `host-files`, since it could not set the old mode. If overwriting fails half-way, the old contents are restored.
    ///
    /// # Errors
    ///
    /// The file system refused. The temporary copy is removed.
    pub fn atomic_move(
        &self,
        src: &Path,
        dest: &Path,
        unsafe_writes: bool,
        keep_dest_attrs: bool,
    ) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            let why = words(&error);
            Failure::new(format!("Could not replace file: {} to {}: {why}", src.display(), dest.display()))
        };
        let found = fs::symlink_metadata(dest);
        let (there, is_link) = (found.is_ok(), found.is_ok_and(|found| found.is_symlink()));
        if there && keep_dest_attrs && !platform::AVAILABLE {
            return overwrite(src, dest).and_then(|()| fs::remove_file(src)).map_err(failed);
        }
        // What replaces a link has owner and mode of the file behind it, which the host does not look at.
        let keeps = there && !is_link && keep_dest_attrs && platform::REPLACES;
        let behind = if keeps { None } else { platform::stat(dest, true).ok() };
        let is_new = !keeps && behind.is_none();
        let old = behind.filter(|_| keep_dest_attrs);
        let dress = |path: &Path| match (&old, is_new) {
            (Some(old), _) => {
                // Only root may change the owner; the file's owner may set the mode.
                let owner = platform::set_owner(path, true, Some(old.uid), Some(old.gid)).is_err();
                let set_id = platform::set_mode(path, old.mode).is_err() && old.mode & SET_IDS != 0;
                if set_id {
                    let _ = platform::set_mode(path, old.mode & !SET_IDS);
                }
                // Another user's Ansible gives no file away either.
                let owner = owner && platform::user_number() == Some(0);
                warn_of_lost(Lost { owner, set_id, ..Lost::default() }, dest);
            }
            (None, true) if platform::AVAILABLE => {
                let _ = platform::set_mode(path, NEW & !platform::umask());
            }
            _ => {}
        };
        let put = |path: &Path| {
            dress(path);
            if keeps { replace(path, dest) } else { fs::rename(path, dest) }
        };
        match put(src) {
            Ok(()) => return Ok(()),
            Err(error) if !is_worth_a_copy(&error) => return Err(failed(error)),
            Err(_) => {}
        }
        match copy_beside(src, dest, put) {
            Err(error) if unsafe_writes || cfg!(not(unix)) && !platform::REPLACES && is_worth_a_copy(&error) => {
                overwrite_or_put_back(src, dest).map_err(failed)?;
            }
            copied => copied.map_err(failed)?,
        }
        // If this fails, the file stays in the folder for temporary files.
        let _ = fs::remove_file(src);
        Ok(())
    }

    /// Finds out whether a backup of a file can be left beside it, for what happens between that and the backup.
    ///
    /// # Errors
    ///
    /// Nothing grants new files in the folder; the error names the option that would.
    pub fn check_backup(&self, path: &Path) -> Result<(), Failure> {
        crate::backup::may_back_up(path).map_err(no_backup(path))
    }

    /// Copies a file next to itself, under Ansible's name for backups, and returns that name, or `None` if there is no
    /// file. In check mode, it only returns the name.
    ///
    /// # Errors
    ///
    /// The file system refused, or nothing grants new files in the folder: in check mode, too.
    pub fn backup_local(&self, path: &Path) -> Result<Option<PathBuf>, Failure> {
        if !path.exists() {
            return Ok(None);
        }
        if self.check_mode() {
            self.check_backup(path)?;
            return Ok(Some(crate::backup::name(path)?));
        }
        let copy = crate::fs::backup(path).map_err(no_backup(path))?;
        if let (true, Ok(old)) = (cfg!(not(unix)), platform::stat(path, true)) {
            let is_given = platform::stat(&copy, true).is_ok_and(|new| (new.uid, new.gid) != (old.uid, old.gid));
            if is_given {
                // The bits by which a file runs as its owner go with a new one.
                let _ = platform::set_owner(&copy, true, Some(old.uid), Some(old.gid));
            }
            let mode = if is_given { old.mode & !SET_IDS } else { old.mode };
            let set = platform::set_mode(&copy, mode).or_else(|error| {
                if mode & SET_IDS == 0 {
                    return Err(error);
                }
                warn_of_lost(Lost { set_id: true, ..Lost::default() }, &copy);
                platform::set_mode(&copy, mode & !SET_IDS)
            });
            set.map_err(|error| {
                // A copy that every user can read is worse than no copy.
                let _ = fs::remove_file(&copy);
                Failure::new(format!(
                    "Could not set mode {} of {}: {}",
                    written(old.mode),
                    copy.display(),
                    words(&error)
                ))
            })?;
        }
        Ok(Some(copy))
    }
}

fn no_backup(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::new(format!("Could not make backup of {}: {}", path.display(), words(&error)))
}

/// Returns whether a copy can help where renaming failed: another file system, another owner, a running or mounted
/// file.
fn is_worth_a_copy(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, ExecutableFileBusy, PermissionDenied, ResourceBusy};
    matches!(error.kind(), PermissionDenied | CrossesDevices | ExecutableFileBusy | ResourceBusy)
}

/// Copies a file into the folder of the target, and puts the copy into its place.
fn copy_beside(src: &Path, dest: &Path, put: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let (temporary, mut file) = privately(|| crate::fs::create_beside(dest, ".ansible_tmp"))?;
    let copied = File::open(src)
        .and_then(|mut src| io::copy(&mut src, &mut file))
        .and_then(|_| file.sync_all())
        .map_err(|error| write_cause(&temporary, error))
        .and_then(|()| put(&temporary));
    if copied.is_err() {
        // The first error is more useful than that of the clean-up.
        let _ = fs::remove_file(&temporary);
    }
    copied
}

/// Overwrites a file. If that fails, the old contents are restored if they fit into memory; a new file is removed.
fn overwrite_or_put_back(src: &Path, dest: &Path) -> io::Result<()> {
    let there = fs::symlink_metadata(dest).is_ok();
    let before = crate::fs::read(dest, crate::fs::MAX_PUT_BACK).ok();
    let written = overwrite(src, dest);
    // The first error is more useful than a second one.
    match (&written, there, before) {
        (Ok(()), ..) => {}
        (Err(_), false, _) => drop(fs::remove_file(dest)),
        (Err(_), true, Some(before)) => drop(crate::fs::overwrite(dest, &before)),
        (Err(_), true, None) => {}
    }
    written
}

fn overwrite(src: &Path, dest: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(dest)?;
    let copied = io::copy(&mut File::open(src)?, &mut file);
    let length = copied.map_err(|error| write_cause(dest, error))?;
    file.set_len(length)?;
    file.sync_all()
}
