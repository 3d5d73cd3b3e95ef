//! The memory that a reported call makes at most, for rooms whose memory no control group counts.
//!
//! The module can keep such memory without mapping it, so it is charged for good when it is made. This file looks only at
//! arguments that the kernel reads from registers, so that no other thread can change them.

use modbox_kernel::ReportedCall;

/// Bytes of the kernel for each semaphore of a set.
const SEMAPHORE: u64 = 128;

/// Bytes of the kernel for a full queue: as many empty messages as its size in bytes, by default 16 KiB.
const QUEUE: u64 = (16 << 10) * 64;

/// Returns the bytes that a call makes at most.
pub(crate) fn charge(report: &ReportedCall) -> u64 {
    let argument = |index: usize| report.arguments.get(index).copied().unwrap_or_default();
    let int = |index: usize| argument(index) & 0xffff_ffff;
    let makes = |flags: usize| int(0) == 0 || int(flags) & u64::from(libc::IPC_CREAT.cast_unsigned()) != 0;
    match report.number {
        libc::SYS_mmap => argument(1),
        libc::SYS_shmget if makes(2) => argument(1),
        libc::SYS_semget if makes(2) => int(1).saturating_mul(SEMAPHORE),
        libc::SYS_msgget if makes(1) => QUEUE,
        _ => 0,
    }
}
