//! Moments in the calendar, all in UTC: guests know no zones.
//!
//! The calendar is the crate `time`; this is the way to it from seconds since 1970, for times that no clock and no file of
//! this world should have, too.

use time::UtcDateTime;
pub use time::{Date, Month};

/// Returns the moment that is this many seconds after 1970 began. Behind the year 9999, where calendars of four digits end,
/// it is the last one that they have.
///
/// ```
/// assert_eq!(modbox_sdk::date::moment(951_782_400).date().to_string(), "2000-02-29");
/// ```
#[must_use]
pub fn moment(seconds: u64) -> UtcDateTime {
    i64::try_from(seconds).ok().and_then(|at| UtcDateTime::from_unix_timestamp(at).ok()).unwrap_or(UtcDateTime::MAX)
}
