//! Dates in HTTP (RFC 9110, 5.6.7): writes one form, and reads all forms that servers use.

use crate::date::{Date, Month, moment};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Formats seconds since 1970 as `Sun, 06 Nov 1994 08:49:37 GMT`.
#[must_use]
pub fn write(seconds: u64) -> String {
    let at = moment(seconds);
    let weekday = DAYS[usize::from(at.weekday().number_days_from_sunday())];
    let month = MONTHS[usize::from(u8::from(at.month())) - 1];
    let (hour, minute, second) = at.time().as_hms();
    format!("{weekday}, {:02} {month} {:04} {hour:02}:{minute:02}:{second:02} GMT", at.day(), at.year())
}

/// Reads the form above, the form of cookies with `-` between the parts of the date, or that of C's `asctime`.
#[must_use]
pub(crate) fn read(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split([' ', '-', ',']).filter(|word| !word.is_empty()).collect();
    let clock = words.iter().find(|word| word.contains(':'))?;
    let month = words.iter().position(|word| month_of(word).is_some())?;
    let number = |index: usize| words.get(index)?.parse::<i32>().ok();
    let (day, year) = match number(month.checked_sub(1)?) {
        Some(day) => (day, number(month + 1)?),
        None => (number(month + 1)?, number(month + 3)?),
    };
    // Two digits are the years 1970 to 2069.
    let year = if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    };
    let clock: Vec<u64> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = clock.try_into().ok()?;
    let date = Date::from_calendar_date(year, month_of(words[month])?, u8::try_from(day).ok()?).ok()?;
    let midnight = u64::try_from(date.midnight().as_utc().unix_timestamp()).ok()?;
    let in_range = hours < 24 && minutes < 60 && seconds < 61;
    in_range.then_some(midnight + hours * 3600 + minutes * 60 + seconds)
}

fn month_of(word: &str) -> Option<Month> {
    let index = MONTHS.iter().position(|month| word.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(month)))?;
    Month::try_from(u8::try_from(index + 1).ok()?).ok()
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
