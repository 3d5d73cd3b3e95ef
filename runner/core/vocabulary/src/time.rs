//! Conversion of durations to numbers, in the unit of reports and limits, and of a file's times to what sets them.

use std::time::Duration;

use rustix::fs::{Stat, Timespec, Timestamps};

/// Returns a duration in microseconds, or the largest number if it does not fit.
#[must_use]
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the times of a file that can be set.
#[must_use]
pub fn settable_times(stat: &Stat) -> Timestamps {
    let time =
        |seconds: i64, nanoseconds: u64| Timespec { tv_sec: seconds, tv_nsec: i64::try_from(nanoseconds).unwrap_or(0) };
    Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_do_not_fit_become_the_largest_number() {
        assert_eq!(micros(Duration::from_millis(3)), 3000);
        assert_eq!(micros(Duration::MAX), u64::MAX);
    }
}
