//! Dates and times in UTC: guests have no time zones.
//!
//! Converts seconds since 1970 for the crate `time`. Any number is accepted, even one that no clock or file should
//! report.

use time::UtcDateTime;
pub use time::{Date, Month};

/// Returns the moment this many seconds after the start of 1970, at most the last one of the year 9999, where calendars
/// with four digits end.
///
/// ```
/// assert_eq!(modbox_sdk::date::moment(951_782_400).date().to_string(), "2000-02-29");
/// ```
#[must_use]
pub fn moment(seconds: u64) -> UtcDateTime {
    i64::try_from(seconds).ok().and_then(|at| UtcDateTime::from_unix_timestamp(at).ok()).unwrap_or(UtcDateTime::MAX)
}
