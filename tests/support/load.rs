//! Bounds in time that hold on a busy machine, too: a limit that is kept late because the processor is taken is kept.

use std::time::Duration;
use std::{fs, thread};

/// Returns a bound as long as this machine makes it at the moment: every process that waits for a processor lets the others
/// wait that much longer. On an idle machine it is the bound itself and a little more.
pub fn stretched(bound: Duration) -> Duration {
    let processors =
        thread::available_parallelism().map_or(1.0, |count| f64::from(u32::try_from(count.get()).unwrap_or(1)));
    bound.mul_f64(1.0 + load() / processors)
}

/// Returns how many processes run or wait to run: over the last minute, or now, whichever is more (proc_loadavg(5)).
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut fields = text.split_ascii_whitespace();
    let minute = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0.0);
    let now = fields.nth(2).and_then(|field| field.split_once('/')?.0.parse().ok()).unwrap_or(0.0);
    f64::max(minute, now)
}
