//! Conversion of durations to numbers, in the unit of reports and limits.

use std::time::Duration;

/// Returns a duration in microseconds, or the largest number if it does not fit.
#[must_use]
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
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
