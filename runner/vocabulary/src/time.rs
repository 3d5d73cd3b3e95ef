//! Durations as numbers, in the unit that reports and limits use.

use std::time::Duration;

/// Returns a duration in microseconds, or the largest number when it is longer.
#[must_use]
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_long_is_the_largest_number() {
        assert_eq!(micros(Duration::from_millis(3)), 3000);
        assert_eq!(micros(Duration::MAX), u64::MAX);
    }
}
