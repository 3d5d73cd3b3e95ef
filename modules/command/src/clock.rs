//! The start and end of a command, formatted as in Python.

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use modbox_sdk::date;

/// A moment in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    wall: Duration,
    steady: Instant,
}

impl Moment {
    pub(crate) fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall, steady: Instant::now() }
    }

    /// Returns the time since another moment, as `H:MM:SS.ffffff`.
    pub(crate) fn since(&self, start: &Self) -> String {
        lasting(self.steady.saturating_duration_since(start.steady))
    }
}

/// Writes `YYYY-MM-DD HH:MM:SS.ffffff`, UTC.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&date_and_time(self.wall))
    }
}

fn date_and_time(since_1970: Duration) -> String {
    let at = date::moment(since_1970.as_secs());
    let (date, (hour, minute, second)) = (at.date(), at.time().as_hms());
    format!("{date} {hour:02}:{minute:02}:{second:02}{}", fraction(since_1970))
}

fn lasting(time: Duration) -> String {
    let seconds = time.as_secs();
    let days = match seconds / 86_400 {
        0 => String::new(),
        1 => "1 day, ".to_owned(),
        days => format!("{days} days, "),
    };
    format!("{days}{}:{:02}:{:02}{}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60, fraction(time))
}

/// Returns the microseconds, or an empty text if there are none.
fn fraction(time: Duration) -> String {
    match time.subsec_micros() {
        0 => String::new(),
        micros => format!(".{micros:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_python_does() {
        for (micros, expect) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399_000_001, "2000-02-28 23:59:59.000001"),
            (1_795_264_511_250_000, "2026-11-21 12:35:11.250000"),
        ] {
            assert_eq!(date_and_time(Duration::from_micros(micros)), expect);
        }
        for (micros, expect) in [
            (8006, "0:00:00.008006"),
            (3_723_000_000, "1:02:03"),
            (90_000_000_000, "1 day, 1:00:00"),
            (180_000_000_001, "2 days, 2:00:00.000001"),
        ] {
            assert_eq!(lasting(Duration::from_micros(micros)), expect);
        }
    }
}
