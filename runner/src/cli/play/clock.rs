//! The clock of plays: the time of this machine's zone.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns a time since the Unix epoch as local date and time, as Python's `str(datetime.now())` writes it.
pub(crate) fn local_time(time: Duration) -> String {
    let stamp = i64::try_from(time.as_micros()).ok().and_then(|micros| Timestamp::from_microsecond(micros).ok());
    let local = stamp.unwrap_or_default().to_zoned_datetime(TimeZone::system());
    let fraction = local.subsec_nanosecond() / 1000;
    let text = local.strftime("%Y-%m-%d %H:%M:%S").to_string();
    if fraction == 0 { text } else { format!("{text}.{fraction:06}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_microseconds_and_left_out_when_zero() {
        assert!(local_time(Duration::from_micros(1_500_000)).ends_with(":01.500000"));
        assert!(local_time(Duration::from_secs(1)).ends_with(":01"));
    }
}
