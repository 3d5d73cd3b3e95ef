//! Layers that are attached over the directories of an ordinary user, in namespaces in which this user may mount.
//!
//! In such namespaces no other owner exists, so a directory with files of others is refused. A granted directory is copied,
//! since an overlay of a user refuses to rename directories. Granted single files are not renamed as directories, so the
//! directory around them has an overlay. This file makes no namespaces.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Stat};
use rustix::io::Errno;

use crate::changes::overlay_marks::OverlayMarks;
use crate::error::LayerError;
use crate::tree_root::TreeRoot;
use crate::trees::tree_copy::TreeCopy;
use crate::trees::tree_survey;
use crate::views::fits;
use crate::views::layers::{Content, Layer, LayerPlan, Layers, OverlayContent};
use crate::views::mount::{OverlayMount, RealMount, StepError};
use crate::views::overlay_view::OverlayView;
use crate::views::private_place::PrivatePlace;
use crate::views::tree_facts;

/// What to do about files that a user's layers do not show as they are.
const ALONE: &str = "grant what is your own, or run the module by itself with `modbox run --preview`";

/// Upper bound of the entries that are looked at for their owners.
const MAX_ENTRIES: usize = 100_000;

/// Upper bound of the time for it.
const MAX_TIME: Duration = Duration::from_secs(1);

impl Layers {
    /// Attaches a copy over a directory. No layer may hold the directory. The directories in `kept` are modbox's own and may
    /// not be in it.
    ///
    /// # Errors
    ///
    /// The directory has entries that this user cannot copy exactly, or is larger than the plan's quota.
    pub fn attach_copy(&mut self, directory: &Path, kept: &[PathBuf], plan: &LayerPlan) -> Result<(), LayerError> {
        let failed = |(step, cause): StepError| LayerError::Mount { path: directory.to_owned(), step, cause };
        let real = open_fit(directory, kept)?;
        // Without the layers that are attached inside.
        let source = RealMount::of_layer(&real).and_then(|mount| mount.root());
        let source = source.map_err(|cause| failed(("look below the layers", cause)))?;
        let (place, view) = PrivatePlace::new(plan.quota, &plan.scratch).map_err(failed)?;
        let copy = TreeCopy::new(&source, view, plan.quota, directory)?;
        if let Some(entry) = copy.inexact() {
            let path = if entry == Path::new("") { directory.to_owned() } else { directory.join(entry) };
            return Err(not_own(path));
        }
        let mount = RealMount::of_layer(&copy.view).map_err(|cause| failed(("make a mount of the copy", cause)))?;
        let content = Content::Copy { copy, real, place, mount: Some(mount) };
        self.attach_layer(Layer { path: directory.to_owned(), content }, kept)
    }

    /// Attaches an overlay over a directory of which only single files are written. Ask [`refuse_inexact_name`] about each.
    /// The directories in `kept` stay the real ones.
    ///
    /// # Errors
    ///
    /// The kernel makes no overlay of the directory.
    pub fn attach_for_names(&mut self, directory: &Path, kept: &[PathBuf], plan: &LayerPlan) -> Result<(), LayerError> {
        let failed = |(step, cause): StepError| LayerError::Mount { path: directory.to_owned(), step, cause };
        let real = open_fit(directory, &[])?;
        let make = || OverlayMount::new(&real, plan.quota, OverlayMarks::User);
        let made =
            modbox_kernel::with_all_rights(make).map_err(|cause| failed(("take up the rights to mount", cause)))?;
        let overlay = made.map_err(failed)?;
        let content = OverlayContent::new(OverlayView::Own(overlay), real)
            .map_err(|cause| LayerError::Compare { path: directory.to_owned(), cause })?;
        self.attach_layer(Layer { path: directory.to_owned(), content: Content::Overlay(Box::new(content)) }, kept)
    }
}

/// Refuses a single file that a user's overlay over `directory`, which is around it, does not hold as it is.
///
/// # Errors
///
/// The file or a directory on the way to it belongs to others or is closed to its owner, the file has several names, or an
/// entry cannot be looked at.
pub fn refuse_inexact_name(directory: &Path, name: &Path) -> Result<(), LayerError> {
    let around = name.ancestors().take_while(|path| path.starts_with(directory));
    for path in around {
        let failed = |errno: Errno| LayerError::Open { path: path.to_owned(), cause: errno.into() };
        let stat = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            stat => stat.map_err(failed)?,
        };
        let is_plain =
            tree_survey::is_plain(&stat, path).map_err(|cause| LayerError::Open { path: path.to_owned(), cause })?;
        if !is_plain || !is_open(&stat) {
            return Err(not_own(path.to_owned()));
        }
    }
    Ok(())
}

/// Returns whether all that a run may read at a path belongs to this user and to the user's group. What was not seen within
/// a bound of entries and time does not.
///
/// # Errors
///
/// A directory cannot be read.
pub fn are_own(path: &Path) -> io::Result<bool> {
    let deadline = Instant::now() + MAX_TIME;
    let (mut pending, mut seen) = (vec![path.to_owned()], 0);
    while let Some(path) = pending.pop() {
        let stat = match rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            stat => stat?,
        };
        seen += 1;
        if !is_own(&stat) || seen > MAX_ENTRIES || Instant::now() > deadline {
            return Ok(false);
        }
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            for entry in Dir::new(TreeRoot::open(&path)?.open_directory(Path::new(""))?)? {
                let name = entry?.file_name().to_bytes().to_vec();
                if name != b"." && name != b".." {
                    pending.push(path.join(<OsString as OsStringExt>::from_vec(name)));
                }
            }
        }
    }
    Ok(true)
}

/// Opens a directory that can have a layer.
fn open_fit(directory: &Path, own: &[PathBuf]) -> Result<TreeRoot, LayerError> {
    let real = TreeRoot::open(directory).map_err(|cause| LayerError::Open { path: directory.to_owned(), cause })?;
    let facts =
        tree_facts::collect(&real, own).map_err(|cause| LayerError::Compare { path: directory.to_owned(), cause })?;
    fits::view_of(&facts)?;
    Ok(real)
}

fn is_own(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_gid == rustix::process::getegid().as_raw()
}

/// Returns whether the owner may read an entry, and enter it if it is a directory.
fn is_open(stat: &Stat) -> bool {
    let needed = if FileType::from_raw_mode(stat.st_mode).is_dir() { 0o700 } else { 0o400 };
    stat.st_mode & needed == needed
}

fn not_own(path: PathBuf) -> LayerError {
    let reason = "it belongs to another user or group, has several names, or has a mode or attributes that a layer of this \
                  user does not hold";
    LayerError::Unfit { path, reason: reason.to_owned(), remedy: ALONE }
}
