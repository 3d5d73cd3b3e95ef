//! The moment in which a layer was made, on the clock that the kernel gives files.
//!
//! A commit takes a file that was changed after this moment for changed by another process. This file does not look at
//! the files.

use std::path::Path;
use std::time::Duration;

use rustix::fs::{MemfdFlags, Mode};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use super::failure::{Failure, Why};
use super::inode::status_changed;

/// Setting back of the clock that counts, in nanoseconds.
const SET_BACK: i128 = 1_000_000;

/// Moment in which a layer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Time of the clock that the kernel gives files, in nanoseconds since the epoch.
    pub realtime: i128,
    /// Time of day less the time since the machine was started, in nanoseconds. It changes when the clock is set.
    pub offset: i128,
}

impl Start {
    /// Returns this moment.
    #[must_use]
    pub fn now() -> Self {
        Self { realtime: clock(ClockId::RealtimeCoarse), offset: offset() }
    }

    /// Returns a moment that is later than all times of files so far, so that changes before it are told from changes after
    /// it. Before Linux 6.13, this waits up to two ticks of the clock, some milliseconds.
    #[must_use]
    pub fn settled() -> Self {
        Self::distinct().unwrap_or_else(Self::next)
    }

    /// Waits for the next tick of the clock that the kernel gives files.
    fn next() -> Self {
        let before = clock(ClockId::Realtime);
        // Ends also if the clock is set back.
        for _ in 0..100 {
            if clock(ClockId::RealtimeCoarse) > before {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Self::now()
    }

    /// Makes the kernel give a file a time that is later than those of all files so far, and not later than those of all
    /// changes to come. Returns `None` if the kernel has no such times.
    ///
    /// Since Linux 6.13, a file whose time was read gets a time of the finest clock when it changes next, and from then on
    /// no file gets an earlier one (`Documentation/filesystems/multigrain-ts.rst`).
    fn distinct() -> Option<Self> {
        let offset = offset();
        let file = rustix::fs::memfd_create("modbox-time", MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL).ok()?;
        rustix::fs::fstat(&file).ok()?;
        rustix::fs::fchmod(&file, Mode::RUSR).ok()?;
        let realtime = status_changed(&rustix::fs::fstat(&file).ok()?);
        // A time of the coarse clock is not later than that clock.
        (realtime > clock(ClockId::RealtimeCoarse)).then_some(Self { realtime, offset })
    }

    /// Checks that the clock was not set back since. A machine that was started again has a larger offset, unless its
    /// clock is behind.
    pub(super) fn check_clock(&self, path: &Path) -> Result<(), Failure> {
        let is_behind = clock(ClockId::Realtime) < self.realtime;
        let is_set_back = offset() < self.offset.saturating_sub(SET_BACK);
        if is_behind || is_set_back { Err(Failure::conflict(path, Why::Clock)) } else { Ok(()) }
    }
}

fn clock(id: ClockId) -> i128 {
    let time = rustix::time::clock_gettime(id);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// Reads both clocks at once, as far as that goes: the closest of some readings counts.
fn offset() -> i128 {
    let read = |_| {
        let before = clock(ClockId::Boottime);
        let realtime = clock(ClockId::Realtime);
        let after = clock(ClockId::Boottime);
        (after - before, realtime - i128::midpoint(before, after))
    };
    (0..4).map(read).min().map_or(0, |(_, offset)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_is_behind_is_a_conflict() {
        let (now, hour) = (Start::now(), 3_600_000_000_000);
        for (realtime, offset, is_right) in [
            (now.realtime, now.offset, true),
            // The machine was started again an hour later.
            (now.realtime - hour, now.offset - hour, true),
            // The clock was set back, or is behind after a start.
            (now.realtime, now.offset + hour, false),
            (now.realtime + hour, now.offset - hour, false),
            (i128::MAX, i128::MIN, false),
        ] {
            let checked = Start { realtime, offset }.check_clock(Path::new("/"));
            assert_eq!(checked.is_ok(), is_right, "{realtime} {offset}");
        }
    }

    #[test]
    fn a_change_before_the_moment_has_an_earlier_time_and_one_after_it_has_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(directory.path().join("file")).unwrap();
        let time = || status_changed(&rustix::fs::fstat(&file).unwrap());
        for round in 0..300 {
            rustix::fs::fchmod(&file, Mode::RUSR).unwrap();
            let start = if round % 10 == 0 { Start::next() } else { Start::settled() };
            assert!(time() < start.realtime, "{round}");
            rustix::fs::fchmod(&file, Mode::WUSR).unwrap();
            assert!(time() >= start.realtime, "{round}");
            start.check_clock(directory.path()).unwrap();
        }
    }
}
