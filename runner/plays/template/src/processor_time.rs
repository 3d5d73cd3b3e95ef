//! The processor time that an evaluation has taken. What waits, such as a lookup that runs a program, takes none.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::time::ClockId;

/// How many questions are answered without a look at the clock, which takes longer than a step.
const BETWEEN: u32 = 64;

/// The processor time of a thread since a moment.
#[derive(Debug)]
pub(crate) struct ProcessorTime {
    start: Duration,
    asked: AtomicU32,
}

impl ProcessorTime {
    /// Starts now, for this thread.
    pub(crate) fn start() -> Self {
        Self { start: now(), asked: AtomicU32::new(0) }
    }

    /// Returns the same time, for an evaluation within another one.
    pub(crate) fn shared(&self) -> Self {
        Self { start: self.start, asked: AtomicU32::new(0) }
    }

    /// Says whether the time is over. Looks at the clock now and then.
    pub(crate) fn is_over(&self, limit: Duration) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(BETWEEN) && now().saturating_sub(self.start) > limit
    }
}

fn now() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_takes_time() {
        let time = ProcessorTime::start();
        std::thread::sleep(Duration::from_millis(30));
        assert!((0..BETWEEN).all(|_| !time.is_over(Duration::from_millis(20))));
        let mut sum = 0_u64;
        while !time.is_over(Duration::from_millis(20)) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!((0..BETWEEN).any(|_| time.shared().is_over(Duration::from_millis(20))));
    }
}
