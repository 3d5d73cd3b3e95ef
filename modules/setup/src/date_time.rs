//! What time it is. A guest knows no time zone, so all of it is UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_sdk::Dict;

use crate::source::Facts;

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(crate) fn facts() -> Dict {
    let mut facts = Facts::default();
    facts.put("date_time", at(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));
    facts.0
}

fn at(since_1970: Duration) -> Dict {
    let seconds = since_1970.as_secs();
    let days = seconds / 86_400;
    let (year, month, day) = date(days);
    // 1970 began on a Thursday.
    let weekday = (days + 4) % 7;
    let day_of_year = days - first_day(year);
    let week = (day_of_year + 7 - (weekday + 6) % 7) / 7;
    let (hour, minute, second, micros) =
        (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60, since_1970.subsec_micros());
    let (plain_date, plain_time) =
        (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{second:02}"));
    let short = format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}");
    let name = WEEKDAYS[usize::try_from(weekday).unwrap_or_default()];
    let entries = [
        ("year", format!("{year:04}")),
        ("month", format!("{month:02}")),
        ("weekday", name.to_owned()),
        ("weekday_number", weekday.to_string()),
        ("weeknumber", format!("{week:02}")),
        ("day", format!("{day:02}")),
        ("hour", format!("{hour:02}")),
        ("minute", format!("{minute:02}")),
        ("second", format!("{second:02}")),
        ("epoch", seconds.to_string()),
        ("epoch_int", seconds.to_string()),
        ("date", plain_date.clone()),
        ("time", plain_time.clone()),
        ("iso8601_micro", format!("{plain_date}T{plain_time}.{micros:06}Z")),
        ("iso8601", format!("{plain_date}T{plain_time}Z")),
        ("iso8601_basic", format!("{short}{micros:06}")),
        ("iso8601_basic_short", short),
        ("tz", "UTC".to_owned()),
        ("tz_dst", "UTC".to_owned()),
        ("tz_offset", "+0000".to_owned()),
    ];
    entries.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// The date of a day since 1970: years are counted from March, so that leap days come last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // Since 0000-03-01.
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day_of_month)
}

/// The first day of a year since 1970.
fn first_day(year: u64) -> u64 {
    let before = year - 1;
    (year - 1970) * 365 + (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_as_strftime_tells_it() {
        for (seconds, expect) in [
            (0, ["1970", "Thursday", "4", "00", "1970-01-01"]),
            (951_782_400, ["2000", "Tuesday", "2", "09", "2000-02-29"]),
            (1_795_298_771, ["2026", "Saturday", "6", "46", "2026-11-21"]),
            (1_704_067_200, ["2024", "Monday", "1", "01", "2024-01-01"]),
            (1_735_689_599, ["2024", "Tuesday", "2", "53", "2024-12-31"]),
        ] {
            let facts = at(Duration::from_secs(seconds));
            let of = |name: &str| facts.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
            assert_eq!(["year", "weekday", "weekday_number", "weeknumber", "date"].map(of), expect, "{seconds}");
        }
    }
}
