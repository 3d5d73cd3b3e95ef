//! The clock of plays: the time of this machine's zone.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use modbox_jinja::values::Moment;

/// Returns a time since the Unix epoch as date and time of this machine's zone, without the zone.
pub(crate) fn local_moment(time: Duration) -> Option<Moment> {
    let micros = i64::try_from(time.as_micros()).ok()?;
    let stamp = Timestamp::from_microsecond(micros).ok()?;
    let offset = i64::from(TimeZone::system().to_offset(stamp).seconds());
    Moment::from_micros(i128::from(micros) + i128::from(offset) * 1_000_000, None)
}

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
