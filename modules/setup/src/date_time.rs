//! What time it is. A guest knows no time zone, so all of it is UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_sdk::{Dict, date};

use crate::source::Facts;

pub(crate) fn facts() -> Dict {
    let mut facts = Facts::default();
    facts.put("date_time", at(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));
    facts.0
}

fn at(since_1970: Duration) -> Dict {
    let seconds = since_1970.as_secs();
    let at = date::moment(seconds);
    let (date, (hour, minute, second)) = (at.date(), at.time().as_hms());
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (week, micros) = (date.monday_based_week(), since_1970.subsec_micros());
    let (plain_date, plain_time) = (date.to_string(), format!("{hour:02}:{minute:02}:{second:02}"));
    let short = format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}");
    let entries = [
        ("year", format!("{year:04}")),
        ("month", format!("{month:02}")),
        ("weekday", at.weekday().to_string()),
        ("weekday_number", at.weekday().number_days_from_sunday().to_string()),
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
