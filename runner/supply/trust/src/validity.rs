//! Times of `allowed_signers`: `YYYYMMDD`, `YYYYMMDDHHMM` or `YYYYMMDDHHMMSS`, in the machine's time zone, or in UTC with a
//! `Z` after it.
//!
//! Source: ssh-keygen(1), ALLOWED SIGNERS, `valid-after`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The time in which a key counts. Either end may be open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) after: Option<Timestamp>,
    pub(crate) before: Option<Timestamp>,
}

impl Validity {
    /// Returns why a time is outside; `None` if it is inside.
    pub(crate) fn reason_against(&self, now: Timestamp) -> Option<String> {
        let shown = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        match (self.after, self.before) {
            (Some(after), _) if now < after => {
                Some(format!("the key is valid after {}, and it is {} now", shown(after), shown(now)))
            }
            (_, Some(before)) if now > before => {
                Some(format!("the key was valid before {}, and it is {} now", shown(before), shown(now)))
            }
            _ => None,
        }
    }
}

/// Reads a time. Returns `None` for another text.
pub(crate) fn parse_time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let (digits, zone) = match text.strip_suffix('Z') {
        Some(digits) => (digits, TimeZone::UTC),
        None => (text, zone.clone()),
    };
    let format = match digits.len() {
        8 => "%Y%m%d",
        12 => "%Y%m%d%H%M",
        14 => "%Y%m%d%H%M%S",
        _ => return None,
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let time = match digits.len() {
        8 => jiff::civil::Date::strptime(format, digits).ok()?.to_datetime(jiff::civil::Time::midnight()),
        _ => DateTime::strptime(format, digits).ok()?,
    };
    zone.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_a_zone_or_in_utc() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        for (text, expect) in [
            ("20240102", "2024-01-01T22:00:00Z"),
            ("20240102Z", "2024-01-02T00:00:00Z"),
            ("202401020304", "2024-01-02T01:04:00Z"),
            ("20240102030405Z", "2024-01-02T03:04:05Z"),
        ] {
            assert_eq!(parse_time(text, &zone).unwrap().to_string(), expect, "{text}");
        }
        for wrong in ["", "2024", "20241302", "20240102ZZ", "2024010203", "always", "+2024010", "２０２４"] {
            assert_eq!(parse_time(wrong, &zone), None, "{wrong}");
        }
    }
}
