//! A point of time on the command line.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// A point of time: a duration before now, or a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// A duration before now.
    Ago(Duration),
    /// A date.
    Date(SystemTime),
}

impl Since {
    /// Returns the point of time, if now is `now`.
    pub(crate) fn resolve(self, now: SystemTime) -> SystemTime {
        match self {
            Self::Ago(duration) => now.checked_sub(duration).unwrap_or(SystemTime::UNIX_EPOCH),
            Self::Date(time) => time,
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ago =
            || text.parse::<u64>().is_err().then(|| humantime::parse_duration(text).ok()).flatten().map(Self::Ago);
        date(text).map(Self::Date).or_else(ago).ok_or_else(|| {
            format!(
                "`{text}` is not a time; write a duration before now such as `2h` or `7days`, a day such as \
                 `2026-11-24` (UTC), or a time such as `2026-11-24T08:00:00Z` or `2026-11-24T08:00:00+01:00`"
            )
        })
    }
}

/// Parses a day, or a day and a time, in UTC unless an offset follows.
fn date(text: &str) -> Option<SystemTime> {
    if text.len() == "2026-11-24".len() {
        return humantime::parse_rfc3339_weak(&format!("{text}T00:00:00Z")).ok();
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub("+01:00".len())?)?;
    let (sign, hours_minutes) = offset.split_at_checked(1)?;
    let Some((hours, minutes)) = hours_minutes.split_once(':').filter(|_| matches!(sign, "+" | "-")) else {
        return humantime::parse_rfc3339_weak(text).ok();
    };
    let number = |digits: &str, limit: u64| {
        let number = digits.parse::<u64>().ok().filter(|number| *number < limit);
        number.filter(|_| digits.len() == 2 && !digits.starts_with('+'))
    };
    let offset = Duration::from_secs(number(hours, 24)? * 3600 + number(minutes, 60)? * 60);
    let local = humantime::parse_rfc3339_weak(local).ok()?;
    if sign == "+" { local.checked_sub(offset) } else { local.checked_add(offset) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_durations_days_or_times() {
        let at = |text: &str| {
            let since = text.parse::<Since>().unwrap().resolve(SystemTime::UNIX_EPOCH + Duration::from_hours(24));
            humantime::format_rfc3339_seconds(since).to_string()
        };
        assert_eq!(at("2h"), "1970-01-01T22:00:00Z");
        assert_eq!(at("1day"), "1970-01-01T00:00:00Z");
        assert_eq!(at("2026-11-24"), "2026-11-24T00:00:00Z");
        for text in
            ["2026-11-24T08:00:00Z", "2026-11-24 08:00:00", "2026-11-24T09:30:00+01:30", "2026-11-24T00:00:00-08:00"]
        {
            assert_eq!(at(text), "2026-11-24T08:00:00Z", "{text}");
        }
        assert_eq!(at("2026-11-24T08:00:00.5Z"), "2026-11-24T08:00:00Z");
        for wrong in ["", "0", "2026", "-2h", "2026-13-01", "2026-11-24T08", "2026-11-24T08:00:00+25:00", "é-éé:ééé"]
        {
            assert!(wrong.parse::<Since>().unwrap_err().contains("2026-11-24"), "{wrong}");
        }
    }
}
