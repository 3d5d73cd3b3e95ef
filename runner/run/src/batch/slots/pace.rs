//! How long the jobs of a slot take, and how many of them are given to it in advance.

use std::time::Duration;

/// Maximum number of jobs sent to a worker in advance when its jobs are short.
const AHEAD: usize = 32;

/// A job that takes less than this is short.
const SHORT: Duration = Duration::from_millis(2);

/// A job that takes less than this is so short that another one may wait behind it, even if a slot becomes free meanwhile.
const BRIEF: Duration = Duration::from_millis(10);

/// Smoothed duration of the last jobs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(Duration);

impl Pace {
    /// Returns the pace of a slot that has run nothing yet.
    pub(crate) fn unknown() -> Self {
        Self(Duration::MAX)
    }

    /// Returns whether another job may be given, beside those that wait or run. A worker with short jobs gets several in
    /// advance, and one with brief jobs the next one, so that it never waits for it.
    pub(crate) fn has_room(self, load: usize) -> bool {
        let most = match self.0 {
            pace if pace < SHORT => AHEAD,
            pace if pace < BRIEF => 2,
            _ => 1,
        };
        load < most
    }

    /// Returns for how long a worker has plenty to do: until half of the jobs sent in advance are done.
    pub(crate) fn stocked(self, load: usize) -> Duration {
        self.0.saturating_mul(u32::try_from(load.saturating_sub(AHEAD / 2)).unwrap_or(u32::MAX))
    }

    /// Smooths the pace. Answers that arrived together come from jobs that ran one after another.
    pub(crate) fn set(&mut self, elapsed: Duration, ended: u32) {
        let took = elapsed / ended.max(1);
        self.0 = if self.0 == Duration::MAX { took } else { (self.0 * 7 + took) / 8 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_jobs_are_the_more_are_given_in_advance() {
        let most = |pace: Pace| (0..=2 * AHEAD).find(|load| !pace.has_room(*load));
        assert_eq!(most(Pace::unknown()), Some(1));
        for (milliseconds, expected) in [(1, AHEAD), (2, 2), (9, 2), (10, 1), (1000, 1)] {
            let mut pace = Pace::unknown();
            pace.set(Duration::from_millis(milliseconds), 1);
            assert_eq!(most(pace), Some(expected), "{milliseconds}");
        }
    }
}
