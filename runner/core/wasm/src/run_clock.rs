//! The wall-clock limit of a run: when it passes, and the time for which it stands still.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use modbox_vocabulary::time::micros;

#[derive(Debug)]
pub(super) struct RunClock {
    start: Instant,
    timeout: Duration,
    paused_us: AtomicU64,
}

impl RunClock {
    /// Starts the clock of a run with this limit.
    pub(super) fn start(timeout: Duration) -> Self {
        Self { start: Instant::now(), timeout, paused_us: AtomicU64::new(0) }
    }

    /// Adds time that does not count.
    pub(super) fn pause(&self, time: Duration) {
        let more = |paused: u64| Some(paused.saturating_add(micros(time)));
        let _ = self.paused_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Returns the time until the limit; zero after it.
    pub(super) fn left(&self) -> Duration {
        let paused = Duration::from_micros(self.paused_us.load(Ordering::Relaxed));
        self.timeout.saturating_add(paused).saturating_sub(self.start.elapsed())
    }

    /// Waits for the end of a call; `None` if the limit passes first.
    pub(super) async fn limit<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        let mut call = std::pin::pin!(call);
        loop {
            match tokio::time::timeout(self.left(), call.as_mut()).await {
                Ok(value) => return Some(value),
                // It has stood still meanwhile.
                Err(_) if !self.left().is_zero() => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_moves_the_limit() {
        let clock = RunClock::start(Duration::ZERO);
        assert!(clock.left().is_zero());
        clock.pause(Duration::from_secs(60));
        assert!(clock.left() > Duration::from_secs(30));
        assert!(RunClock::start(Duration::MAX).left() > Duration::from_secs(60));
        clock.pause(Duration::MAX);
        assert!(clock.left() > Duration::from_secs(30), "the sum does not wrap");
    }

    #[test]
    fn a_call_goes_on_if_the_clock_stood_still() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let clock = RunClock::start(Duration::from_millis(1));
        let call = async {
            // As a call of the host that does not return until the limit has passed.
            while !clock.left().is_zero() {
                std::thread::yield_now();
            }
            clock.pause(Duration::from_secs(60));
            tokio::task::yield_now().await;
            7
        };
        assert_eq!(runtime.block_on(clock.limit(call)), Some(7));
        let clock = RunClock::start(Duration::from_millis(1));
        assert_eq!(runtime.block_on(clock.limit(std::future::pending::<()>())), None);
    }
}
