//! The time that is left of a session.

use std::io;
use std::time::{Duration, Instant};

/// Returns the time until a deadline.
///
/// # Errors
///
/// It has passed.
pub(super) fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
