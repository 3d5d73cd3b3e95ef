//! Times of files, and of this process.

use std::time::Duration;

use modbox_vocabulary::time::settable_times;
use rustix::fs::Stat;
use rustix::time::ClockId;

/// Time of a file: seconds and nanoseconds since the epoch.
pub(crate) type Moment = (i64, i64);

/// Returns the present.
pub(crate) fn now() -> Moment {
    let now = rustix::time::clock_gettime(ClockId::Realtime);
    (now.tv_sec, now.tv_nsec)
}

/// Returns a moment that is not after the times of files that are written from now on. File systems round down.
pub(crate) fn before_writes() -> Moment {
    let now = rustix::time::clock_gettime(ClockId::RealtimeCoarse);
    (now.tv_sec, now.tv_nsec)
}

/// Returns the processor time that this process has taken.
pub(crate) fn own_processor_time() -> Duration {
    rustix::time::clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// Returns when the content of a file was last modified.
pub(crate) fn modified(stat: &Stat) -> Moment {
    let modified = settable_times(stat).last_modification;
    (modified.tv_sec, modified.tv_nsec)
}
