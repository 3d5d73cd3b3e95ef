//! `datetime.strptime`: reads a moment by a format, with the regular expressions that Python uses for it.

use modbox_python_re::{Flags, Match, Pattern, Subject};
use time::{Date, Weekday};

use super::calendar::Calendar;
use super::clock::{Clock, Offset};
use super::format::{DAYS, MONTHS};
use super::moment::Moment;

/// A text that does not have the format, or a wrong format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The format is wrong.
    #[error("'{0}' is a bad directive in format '{1}'")]
    Directive(String, String),
    /// The text does not match.
    #[error("time data {0} does not match format {1}")]
    Mismatch(String, String),
    /// The text goes on behind the format.
    #[error("unconverted data remains: {0}")]
    Rest(String),
    /// The calendar or the clock lacks the moment.
    #[error("day is out of range for month, or a part contradicts another one")]
    Range,
}

/// Returns the moment that a text names.
///
/// # Errors
///
/// The format is wrong, or the text does not match it.
pub fn strptime(text: &str, format: &str) -> Result<Moment, ParseError> {
    let quoted = modbox_python_json::str_repr;
    let mut regex = String::new();
    expression(format, &mut regex).map_err(|directive| ParseError::Directive(directive, format.to_owned()))?;
    let flags = Flags { ignore_case: true, ..Flags::default() };
    let bad = || ParseError::Directive("%".to_owned(), format.to_owned());
    let pattern = Pattern::new(&format!(r"\A(?:{regex})"), Subject::Text, flags).map_err(|_| bad())?;
    let found = pattern.search(text.as_bytes()).map_err(|_| bad())?;
    let found = found.ok_or_else(|| ParseError::Mismatch(quoted(text), quoted(format)))?;
    let end = found.span(0).map_or(0, |(_, end)| end);
    if end < text.len() {
        return Err(ParseError::Rest(text.get(end..).unwrap_or_default().to_owned()));
    }
    Parsed { pattern: &pattern, found: &found }.moment().ok_or(ParseError::Range)
}

fn expression(format: &str, out: &mut String) -> Result<(), String> {
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '%' {
            let kind = chars.next().ok_or("%")?;
            directive(kind, out)?;
        } else if c.is_whitespace() {
            while chars.next_if(|c| c.is_whitespace()).is_some() {}
            out.push_str(r"\s+");
        } else {
            if "\\.^$*+?(){}[]|#&~-".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
    }
    Ok(())
}

fn directive(kind: char, out: &mut String) -> Result<(), String> {
    let names = |names: &[&str], length: Option<usize>| -> String {
        names.iter().map(|name| length.map_or(*name, |length| &name[..length])).collect::<Vec<_>>().join("|")
    };
    let expression_of = match kind {
        'd' => r"3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9]".to_owned(),
        'f' => "[0-9]{1,6}".to_owned(),
        'H' => r"2[0-3]|[0-1]\d|\d".to_owned(),
        'I' | 'm' => "1[0-2]|0[1-9]|[1-9]".to_owned(),
        'G' | 'Y' => r"\d\d\d\d".to_owned(),
        'j' => r"36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]".to_owned(),
        'M' => r"[0-5]\d|\d".to_owned(),
        'S' => r"6[0-1]|[0-5]\d|\d".to_owned(),
        'U' | 'W' => r"5[0-3]|[0-4]\d|\d".to_owned(),
        'w' => "[0-6]".to_owned(),
        'u' => "[1-7]".to_owned(),
        'V' => r"5[0-3]|0[1-9]|[1-4]\d|\d".to_owned(),
        'y' => r"\d\d".to_owned(),
        'z' => r"[+-]\d\d:?[0-5]\d(?::?[0-5]\d(?:\.\d{1,6})?)?|Z".to_owned(),
        'Z' => "utc|gmt".to_owned(),
        'a' => names(&DAYS, Some(3)),
        'A' => names(&DAYS, None),
        'b' => names(&MONTHS, Some(3)),
        'B' => names(&MONTHS, None),
        'p' => "am|pm".to_owned(),
        'c' => return expression("%a %b %d %H:%M:%S %Y", out),
        'x' => return expression("%m/%d/%y", out),
        'X' => return expression("%H:%M:%S", out),
        '%' => {
            out.push('%');
            return Ok(());
        }
        _ => return Err(kind.to_string()),
    };
    out.push_str(&format!("(?P<{kind}>{expression_of})"));
    Ok(())
}

struct Parsed<'a> {
    pattern: &'a Pattern,
    found: &'a Match,
}

impl Parsed<'_> {
    fn text(&self, kind: &str) -> Option<String> {
        let bytes = self.found.group(self.pattern.index_of(kind)?)?;
        Some(String::from_utf8_lossy(bytes).trim().to_lowercase())
    }

    fn number(&self, kind: &str) -> Option<i32> {
        self.text(kind)?.parse().ok()
    }

    fn name(&self, kind: &str, names: &[&str], length: Option<usize>) -> Option<usize> {
        let text = self.text(kind)?;
        names.iter().position(|name| length.map_or(*name, |length| &name[..length]).to_lowercase() == text)
    }

    fn moment(&self) -> Option<Moment> {
        let date = Calendar::of(self.date()?)?;
        let fraction = self.text("f").map_or(Some(0), |digits| format!("{digits:0<6}").parse().ok())?;
        let part = |kind| u8::try_from(self.number(kind).unwrap_or(0)).ok();
        let clock = Clock::new(self.hour()?, part("M")?, part("S")?, fraction)?;
        let offset = match self.text("z") {
            Some(text) => Some(offset(&text)?),
            None => None,
        };
        Some(Moment::new(date, clock, offset))
    }

    fn hour(&self) -> Option<u8> {
        if let Some(hour) = self.number("I") {
            let afternoon = self.text("p").as_deref() == Some("pm");
            return u8::try_from(hour % 12 + if afternoon { 12 } else { 0 }).ok();
        }
        u8::try_from(self.number("H").unwrap_or(0)).ok()
    }

    /// Returns the day of the week, counted from Monday.
    fn weekday(&self) -> Option<usize> {
        let by_name = self.name("A", &DAYS, None).or_else(|| self.name("a", &DAYS, Some(3)));
        let from_sunday = || self.number("w").map(|day| usize::try_from((day + 6) % 7).unwrap_or(0));
        let from_monday = || self.number("u").map(|day| usize::try_from(day - 1).unwrap_or(0));
        by_name.or_else(from_sunday).or_else(from_monday)
    }

    fn date(&self) -> Option<Date> {
        let short = self.number("y").map(|year| if year <= 68 { 2000 + year } else { 1900 + year });
        let year = self.number("Y").or(short);
        if let (Some(iso_year), None) = (self.number("G"), year) {
            let day = Weekday::Monday.nth_next(u8::try_from(self.weekday()?).ok()?);
            return Date::from_iso_week_date(iso_year, u8::try_from(self.number("V")?).ok()?, day).ok();
        }
        if self.number("V").is_some() || self.number("G").is_some() {
            return None;
        }
        let known_year = year;
        let leap = self.number("m").or_else(|| self.month()) == Some(2) && self.number("d") == Some(29);
        let year = year.unwrap_or(if leap { 1904 } else { 1900 });
        if let Some(day) = self.number("j") {
            return Date::from_ordinal_date(year, u16::try_from(day).ok()?).ok();
        }
        let week = self.number("U").map(|week| (week, 6)).or_else(|| self.number("W").map(|week| (week, 0)));
        if let (Some((week, starts)), Some(weekday), Some(_)) = (week, self.weekday(), known_year) {
            return day_of_week(year, week, weekday, starts);
        }
        let month =
            time::Month::try_from(u8::try_from(self.number("m").or_else(|| self.month()).unwrap_or(1)).ok()?).ok()?;
        let day = u8::try_from(self.number("d").unwrap_or(1)).ok()?;
        let date = Date::from_calendar_date(year, month, day).ok()?;
        // Python reads 29 February without a year, and then has no such day in 1900.
        if known_year.is_none() && leap { None } else { Some(date) }
    }

    fn month(&self) -> Option<i32> {
        let month = self.name("B", &MONTHS, None).or_else(|| self.name("b", &MONTHS, Some(3)))?;
        i32::try_from(month + 1).ok()
    }
}

/// Returns the day of a week that is counted from the first Monday or Sunday of a year.
fn day_of_week(year: i32, week: i32, weekday: usize, starts: i32) -> Option<Date> {
    let first = Date::from_ordinal_date(year, 1).ok()?;
    let first_weekday = i32::from(first.weekday().number_days_from_monday());
    let (mut first_weekday, mut day) = (first_weekday, i32::try_from(weekday).ok()?);
    if starts == 6 {
        (first_weekday, day) = ((first_weekday + 1) % 7, (day + 1) % 7);
    }
    let length = (7 - first_weekday) % 7;
    let ordinal = if week == 0 { 1 + day - first_weekday } else { 1 + length + 7 * (week - 1) + day };
    first.checked_add(time::Duration::days(i64::from(ordinal) - 1))
}

fn offset(text: &str) -> Option<Offset> {
    if text == "z" {
        return Some(Offset { seconds: 0, name: None });
    }
    let digits: String = text[1..].chars().filter(char::is_ascii_digit).take(6).collect();
    let part = |at: usize| digits.get(at..at + 2).map_or(Some(0), |digits| digits.parse::<i32>().ok());
    let seconds = part(0)? * 3600 + part(2)? * 60 + part(4)?;
    let seconds = if text.starts_with('-') { -seconds } else { seconds };
    (seconds.abs() < 86_400).then_some(Offset { seconds, name: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, format: &str, expect: Option<&str>) {
        assert_eq!(strptime(text, format).ok().map(|moment| moment.iso(' ')).as_deref(), expect, "{text} {format}");
    }

    #[test]
    fn reads_what_python_reads() {
        check("2024-02-29 23:59:01", "%Y-%m-%d %H:%M:%S", Some("2024-02-29 23:59:01"));
        check("2023-02-29", "%Y-%m-%d", None);
        check("1/2/03", "%d/%m/%y", Some("2003-02-01 00:00:00"));
        check("Mon Jan  1 2024", "%a %b %d %Y", Some("2024-01-01 00:00:00"));
        check("12:30 PM", "%I:%M %p", Some("1900-01-01 12:30:00"));
        check("12 am", "%I %p", Some("1900-01-01 00:00:00"));
        check("2024 060", "%Y %j", Some("2024-02-29 00:00:00"));
        check("2024-01-01T00:00:00.5+0130", "%Y-%m-%dT%H:%M:%S.%f%z", Some("2024-01-01 00:00:00.500000+01:30"));
        check("2024-01-01 x", "%Y-%m-%d", None);
        check("2024 10 1", "%Y %W %w", Some("2024-03-04 00:00:00"));
        check("2024-W05-3", "%G-W%V-%u", Some("2024-01-31 00:00:00"));
        check("1", "%q", None);
        check("1", "%", None);
    }
}
