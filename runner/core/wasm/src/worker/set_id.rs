//! Set-id bits, set by the monitor in the place of a worker whose guest may have them.
//!
//! A filter cannot tell a directory from a program, so that of a worker lets no set-id bit through. It reports the call, and
//! the monitor looks at the file that the worker has open: a directory may have these bits, and a file only if its owner is
//! granted with `+setid`. A worker that its guest has taken over gets no more than that either. Whether the guest may write the
//! path is decided by the guard, as for all other bits of a mode.

use std::os::fd::AsRawFd;

use modbox_kernel::{Caller, ReportedCall};
use modbox_policy::Owners;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The bits of a mode by which a program runs as its owner or its group.
const SET_ID: u32 = 0o6000;

/// How a call ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SetId {
    /// The bits are set.
    Done,
    /// The file system refused.
    Failed(Errno),
    /// It is another call, or the bits are not allowed.
    Refused,
}

/// Makes a call of a worker that sets set-id bits, if they are allowed.
pub(super) fn make(call: &ReportedCall, own: &Owners) -> SetId {
    if call.number != libc::SYS_fchmod || !modbox_kernel::sets_id(call) {
        return SetId::Refused;
    }
    // The kernel reads both arguments as 32 bits.
    let low = |index: usize| u32::try_from(call.arguments[index] & 0xffff_ffff).unwrap_or_default();
    let (descriptor, mode) = (low(0).cast_signed(), low(1) & 0o7777);
    let link = format!("/proc/{}/fd/{descriptor}", call.thread);
    let set = || -> Result<bool, Errno> {
        let file = rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        let allowed = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => SET_ID,
            FileType::RegularFile => own.set_id_bits(stat.st_uid, stat.st_gid),
            _ => 0,
        };
        if mode & SET_ID & !allowed != 0 {
            return Ok(false);
        }
        let caller = Caller::of(call.thread).ok_or(Errno::SRCH)?;
        if !caller.may_set_mode(stat.st_uid) {
            return Err(Errno::PERM);
        }
        let mode = Mode::from_raw_mode(caller.mode_in(stat.st_gid, mode));
        rustix::fs::chmodat(CWD, format!("/proc/self/fd/{}", file.as_raw_fd()), mode, AtFlags::empty())?;
        Ok(true)
    };
    match set() {
        Ok(true) => SetId::Done,
        Ok(false) => SetId::Refused,
        Err(errno) => SetId::Failed(errno),
    }
}
