//! Requests to give a file flags that only say how its file system stores it, such as the extents of ext4.
//!
//! A module that copies a file with its flags (`chattr =e`) reads those of a file on the machine, and sets them for a
//! file in the room's own file system, which is a tmpfs and has no such flags. The filter refuses to set flags, so the
//! copy fails, although the flag means nothing there: it belongs to the file system. Where the file is taken back to the
//! machine, the file system there sets its own. The same is true of a layer, which is an overlay on a tmpfs. Such a
//! request is answered as done, and nothing is done. Every other request stays refused: flags against changes, and all
//! flags of files on the machine's disks.
//!
//! The answer changes nothing, so it does not matter that the module can exchange the descriptor or the flags meanwhile.

use modbox_kernel::ReportedCall;
use rustix::fs::IFlags;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};

use crate::caller::call_arguments::{low, process_of};
use crate::caller::memory;
use crate::copies::flags;

/// `FS_IOC_SETFLAGS`, of programs with 64 and 32 bits. The kernel reads an `int`.
const SET_FLAGS: [u64; 2] = [0x4008_6602, 0x4004_6602];

/// `TMPFS_MAGIC` and `OVERLAYFS_SUPER_MAGIC`. The type of the kernel's number differs between C libraries.
const OWN_FILE_SYSTEMS: [i128; 2] = [0x0102_1994, 0x794c_7630];

/// Flags that file systems set by themselves: `e`, `I`, `h`, `N` of `lsattr`.
const STORAGE: u32 = 0x0008_0000 | 0x0000_1000 | 0x0004_0000 | 0x1000_0000;

/// Returns whether a refused call only sets flags without a meaning in the room's own file system.
pub(crate) fn are_set(report: &ReportedCall) -> bool {
    report.number == libc::SYS_ioctl && are_set_by_request(report).unwrap_or(false)
}

fn are_set_by_request(report: &ReportedCall) -> Option<bool> {
    let [descriptor, request, address, ..] = report.arguments;
    if !SET_FLAGS.contains(&(request & 0xffff_ffff)) {
        return None;
    }
    let mut wanted = [0; size_of::<u32>()];
    if memory::read(report.thread, address, &mut wanted) != wanted.len() {
        return None;
    }
    let process = Pid::from_raw(i32::try_from(process_of(report.thread)?).ok()?)?;
    let pidfd = rustix::process::pidfd_open(process, PidfdFlags::empty()).ok()?;
    let file = rustix::process::pidfd_getfd(pidfd, low(descriptor), PidfdGetfdFlags::empty()).ok()?;
    let is_own = OWN_FILE_SYSTEMS.contains(&rustix::fs::fstatfs(&file).ok()?.f_type.into());
    Some(is_own && only_storage_differs(flags::read(&file), u32::from_ne_bytes(wanted)))
}

fn only_storage_differs(present: IFlags, wanted: u32) -> bool {
    (present.bits() ^ wanted) & !STORAGE == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_flags_of_the_file_system_may_differ() {
        for (present, wanted, expect) in [
            (IFlags::empty(), 0, true),
            (IFlags::empty(), 0x0008_0000, true),
            (IFlags::NODUMP, 0x0008_0040, true),
            (IFlags::empty(), IFlags::IMMUTABLE.bits(), false),
            (IFlags::IMMUTABLE, 0x0008_0000, false),
            (IFlags::empty(), IFlags::APPEND.bits() | 0x0008_0000, false),
        ] {
            assert_eq!(only_storage_differs(present, wanted), expect, "{present:?} {wanted:#x}");
        }
    }
}
