//! How much workers have to do, and when the batch looks away from them.
//!
//! To be woken by every answer costs two changes of process for each job, a good part of what a short job takes, most of
//! all where the workers share a processor with the batch. So while all of them have enough to do, answers are left to
//! gather in the pipes: they are written there one by one all the same, so that none is lost with its worker.

use std::thread;
use std::time::Duration;

use crate::batch::process::Worker;

/// Jobs that a worker is sent ahead, when its jobs are short.
const AHEAD: usize = 32;

/// What short is.
const SHORT: Duration = Duration::from_millis(2);

/// An answer waits no longer than that.
const MOST: Duration = Duration::from_millis(1);

/// Less is not worth it.
const LEAST: Duration = Duration::from_micros(200);

/// Returns how many jobs a worker of this pace has at a time, so that it does not wait for the next one.
pub(super) fn jobs_ahead(pace: Duration) -> usize {
    if pace < SHORT { AHEAD } else { 1 }
}

/// Sleeps until the first of the workers has done half of what it has, so that none runs dry.
pub(super) fn let_work(workers: &[Worker]) {
    let busy = workers.iter().filter(|worker| !worker.jobs.is_empty());
    if let Some(pause) = pause(busy.map(Worker::outlook)) {
        thread::sleep(pause);
    }
}

fn pause(outlooks: impl Iterator<Item = Duration>) -> Option<Duration> {
    let half = outlooks.min()? / 2;
    (half >= LEAST).then(|| half.min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_least_to_do_decides() {
        let micros = Duration::from_micros;
        let of = |outlooks: &[u64]| pause(outlooks.iter().copied().map(micros));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[1_000, 0]), None, "one whose pace is not known yet, or that is nearly done");
        assert_eq!(of(&[1_000, 600]), Some(micros(300)));
        assert_eq!(of(&[1_000_000]), Some(MOST));
    }
}
