//! Moments as HTTP writes them (RFC 9110, 5.6.7): one way to write them, and the ways that servers have.

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Writes a moment, in seconds since 1970, as `Sun, 06 Nov 1994 08:49:37 GMT`.
#[must_use]
pub fn write(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = crate::backup::date(days);
    let weekday = usize::try_from(days % 7).map_or("", |day| DAYS[day]);
    let month = usize::try_from(month - 1).map_or("", |month| MONTHS[month]);
    format!("{weekday}, {day:02} {month} {year:04} {:02}:{:02}:{:02} GMT", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Reads a moment: the form above, with `-` between the parts of the day as cookies have it, or that of C's `asctime`.
#[must_use]
pub(crate) fn read(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split([' ', '-', ',']).filter(|word| !word.is_empty()).collect();
    let clock = words.iter().find(|word| word.contains(':'))?;
    let month = words.iter().position(|word| month_of(word).is_some())?;
    let number = |index: usize| words.get(index)?.parse::<i64>().ok();
    let (day, year) = match number(month.checked_sub(1)?) {
        Some(day) => (day, number(month + 1)?),
        None => (number(month + 1)?, number(month + 3)?),
    };
    // Two digits are years from 1970 to 2069.
    let year = if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    };
    let clock: Vec<u64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = clock.try_into().ok()?;
    let in_range =
        (1970..10_000).contains(&year) && (1..=31).contains(&day) && hours < 24 && minutes < 60 && seconds < 61;
    let days = u64::try_from(days_since_1970(year, month_of(words[month])?, day)).ok().filter(|_| in_range)?;
    Some(days * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

fn month_of(word: &str) -> Option<i64> {
    let index = MONTHS.iter().position(|month| word.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(month)))?;
    i64::try_from(index).ok()
}

/// Years are counted from March, so that leap days come last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read() {
        assert_eq!(write(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(write(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(read(text), Some(784_111_777), "{text}");
        }
        for text in ["", "tomorrow", "Sun, 06 Nov 1994", "Sun, 99 Nov 1994 08:49:37 GMT", "1 Nov x 1:2:3"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
