//! Scales time bounds with the machine's load, so that a busy processor does not fail a test.

use std::time::Duration;
use std::{fs, thread};

/// Returns a time bound scaled with the current load, since each process that waits for a processor delays the others.
/// On an idle machine, the result is slightly more than the bound itself.
pub fn stretched(bound: Duration) -> Duration {
    let processors =
        thread::available_parallelism().map_or(1.0, |count| f64::from(u32::try_from(count.get()).unwrap_or(1)));
    bound.mul_f64(1.0 + load() / processors)
}

/// Returns the number of processes that run or wait to run: the average of the last minute or the current number,
/// whichever is more (proc_loadavg(5)).
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut fields = text.split_ascii_whitespace();
    let minute = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0.0);
    let now = fields.nth(2).and_then(|field| field.split_once('/')?.0.parse().ok()).unwrap_or(0.0);
    f64::max(minute, now)
}
