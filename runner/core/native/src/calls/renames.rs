//! Renames of directories of overlays, as far as a reported call shows them. The overlays of ordinary users refuse to
//! rename the directories below them, with `EXDEV`, and leave no trace of it.
//!
//! What is read of the caller may change before the kernel reads it. A module that hides a rename in this way could as
//! well ask for the file system's type. What cannot be read counts as such a rename. Nothing here refuses a call.

use std::path::Path;

use modbox_kernel::ReportedCall;
use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags};

use crate::caller::call_arguments::{low, named_path};

/// Sort of overlays, in what the kernel tells of a file system.
const OVERLAY: u32 = 0x794c_7630;

/// Index of the flags of `renameat2`.
const FLAGS: usize = 4;

/// Returns whether a call may rename a directory of an overlay. `from` are the indexes of its first directory and path.
pub(crate) fn may_be_of_overlay(report: &ReportedCall, from: (Option<usize>, usize)) -> bool {
    let exchanges = report.number == libc::SYS_renameat2
        && report
            .arguments
            .get(FLAGS)
            .is_none_or(|flags| low(*flags).cast_unsigned() & RenameFlags::EXCHANGE.bits() != 0);
    exchanges || named_path(report, from.0, from.1).is_none_or(|path| is_overlay_directory(report.thread, &path))
}

/// Returns whether a path of a caller is a directory of an overlay, or cannot be looked at.
fn is_overlay_directory(thread: u32, path: &Path) -> bool {
    let look = || -> rustix::io::Result<bool> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, format!("/proc/{thread}/root"), flags, Mode::empty())?;
        let flags = flags | OFlags::NOFOLLOW;
        let named = rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
        let is_directory = FileType::from_raw_mode(rustix::fs::fstat(&named)?.st_mode).is_dir();
        let sort = rustix::fs::fstatfs(&named)?.f_type;
        Ok(is_directory && u32::try_from(sort).is_ok_and(|sort| sort == OVERLAY))
    };
    look().unwrap_or(true)
}
