//! The time by the clock of the file systems, to tell files that are written later.

use rustix::fs::MemfdFlags;

/// Returns the time that a file changed now gets, in seconds and nanoseconds since the Unix epoch.
///
/// Since Linux 6.13 the times of files can be finer than the coarse clock, and thus ahead of it. A new file in memory has
/// one that no earlier change of any file has passed.
pub(super) fn file_time() -> (i64, i64) {
    let made = rustix::fs::memfd_create(c"time", MemfdFlags::CLOEXEC);
    match made.and_then(rustix::fs::fstat) {
        Ok(stat) => (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or_default()),
        Err(_) => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
            (now.tv_sec, now.tv_nsec)
        }
    }
}
