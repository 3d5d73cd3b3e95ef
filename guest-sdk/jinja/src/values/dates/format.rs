//! `strftime` as the C library of Linux does it in the locale `C`.

use time::{Date, Time};

use super::clock::Offset;

pub(crate) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// What is written.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    pub(crate) date: Date,
    pub(crate) time: Time,
    /// The zone, if there is one.
    pub(crate) offset: Option<&'a Offset>,
    /// Seconds since the start of 1970.
    pub(crate) seconds: i64,
    /// Whether `%f` means microseconds, as in `datetime.strftime`.
    pub(crate) has_micros: bool,
}

/// How a number is padded.
#[derive(Clone, Copy)]
struct Padding {
    flag: Option<char>,
    upper: bool,
    width: Option<usize>,
}

/// The widest field.
const MAX_WIDTH: usize = 1000;

/// Returns the text of a moment by a format.
pub(crate) fn strftime(format: &str, fields: &Fields<'_>) -> String {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let directive = &rest[at + 1..];
        let flags = directive.find(|c| !"_-0^#".contains(c)).unwrap_or(directive.len());
        let digits = directive[flags..].find(|c: char| !c.is_ascii_digit()).map_or(directive.len(), |at| flags + at);
        let padding = Padding {
            flag: directive[..flags].chars().rfind(|c| "_-0".contains(*c)),
            upper: directive[..flags].contains(['^', '#']),
            width: directive[flags..digits].parse().ok().map(|width: usize| width.min(MAX_WIDTH)),
        };
        let kind = directive[digits..].chars().next();
        let end = digits + kind.map_or(0, char::len_utf8);
        match kind.and_then(|kind| field(kind, fields, padding)) {
            Some(text) => out.push_str(&text),
            None => out.push_str(&rest[at..=at + end]),
        }
        rest = &directive[end..];
    }
    out.push_str(rest);
    out
}

fn number(value: i64, width: usize, fill: char, padding: Padding) -> String {
    let fill = match padding.flag {
        Some('-') => return value.to_string(),
        Some('_') => ' ',
        Some(_) => '0',
        None => fill,
    };
    let width = padding.width.unwrap_or(width);
    if fill == ' ' { format!("{value:>width$}") } else { format!("{value:0>width$}") }
}

fn word(text: &str, padding: Padding) -> String {
    let text = if padding.upper { text.to_uppercase() } else { text.to_owned() };
    let width = padding.width.unwrap_or(0);
    if padding.flag == Some('0') { format!("{text:0>width$}") } else { format!("{text:>width$}") }
}

/// Returns a field, or `None` if the directive is unknown.
fn field(kind: char, fields: &Fields<'_>, padding: Padding) -> Option<String> {
    let composed = |format: &str| Some(word(&strftime(format, fields), padding));
    match kind {
        'c' => composed("%a %b %e %H:%M:%S %Y"),
        'D' | 'x' => composed("%m/%d/%y"),
        'F' => composed("%Y-%m-%d"),
        'r' => composed("%I:%M:%S %p"),
        'R' => composed("%H:%M"),
        'T' | 'X' => composed("%H:%M:%S"),
        'n' => Some("\n".to_owned()),
        't' => Some("\t".to_owned()),
        '%' => Some("%".to_owned()),
        'f' if fields.has_micros => Some(format!("{:06}", fields.time.microsecond())),
        'z' => Some(fields.offset.map(|offset| offset.iso().replacen(':', "", 1)).unwrap_or_default()),
        'Z' => Some(word(&fields.offset.map(Offset::zone).unwrap_or_default(), padding)),
        _ => named(kind, fields, padding).or_else(|| numbered(kind, fields, padding)),
    }
}

fn named(kind: char, fields: &Fields<'_>, padding: Padding) -> Option<String> {
    let day = DAYS[usize::from(fields.date.weekday().number_days_from_monday())];
    let month = MONTHS[usize::from(u8::from(fields.date.month())) - 1];
    let half = if fields.time.hour() < 12 { "AM" } else { "PM" };
    Some(match kind {
        'a' => word(&day[..3], padding),
        'A' => word(day, padding),
        'b' | 'h' => word(&month[..3], padding),
        'B' => word(month, padding),
        'p' => word(half, padding),
        'P' => word(&half.to_lowercase(), padding),
        _ => return None,
    })
}

fn numbered(kind: char, fields: &Fields<'_>, padding: Padding) -> Option<String> {
    let (date, time) = (fields.date, fields.time);
    let year = i64::from(date.year());
    let (iso_year, iso_week, _) = date.to_iso_week_date();
    let twelve = if time.hour().is_multiple_of(12) { 12 } else { time.hour() % 12 };
    let (value, width, fill) = match kind {
        'C' => (year / 100, 2, '0'),
        'd' => (date.day().into(), 2, '0'),
        'e' => (date.day().into(), 2, ' '),
        'G' => (iso_year.into(), 4, '0'),
        'g' => (i64::from(iso_year).rem_euclid(100), 2, '0'),
        'H' => (time.hour().into(), 2, '0'),
        'I' => (twelve.into(), 2, '0'),
        'j' => (date.ordinal().into(), 3, '0'),
        'k' => (time.hour().into(), 2, ' '),
        'l' => (twelve.into(), 2, ' '),
        'm' => (u8::from(date.month()).into(), 2, '0'),
        'M' => (time.minute().into(), 2, '0'),
        's' => (fields.seconds, 1, '0'),
        'S' => (time.second().into(), 2, '0'),
        'u' => (date.weekday().number_from_monday().into(), 1, '0'),
        'U' => (date.sunday_based_week().into(), 2, '0'),
        'V' => (iso_week.into(), 2, '0'),
        'w' => (date.weekday().number_days_from_sunday().into(), 1, '0'),
        'W' => (date.monday_based_week().into(), 2, '0'),
        'y' => (year.rem_euclid(100), 2, '0'),
        'Y' => (year, 1, '0'),
        _ => return None,
    };
    Some(number(value, width, fill, padding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::Month;

    #[test]
    fn writes_what_the_c_library_writes() {
        let fields = Fields {
            date: Date::from_calendar_date(2021, Month::January, 3).unwrap(),
            time: Time::from_hms_micro(0, 5, 9, 42).unwrap(),
            offset: None,
            seconds: 1_609_632_309,
            has_micros: true,
        };
        for (format, expect) in [
            ("%Y-%m-%d %H:%M:%S.%f", "2021-01-03 00:05:09.000042"),
            ("%a %A %b %B %p %I %l", "Sun Sunday Jan January AM 12 12"),
            ("%j %U %W %V %G %u %w", "003 01 00 53 2020 7 0"),
            ("%-d %_d %^a %e %k %s %% %q", "3  3 SUN  3  0 1609632309 % %q"),
            ("%D %F %T %R %c", "01/03/21 2021-01-03 00:05:09 00:05 Sun Jan  3 00:05:09 2021"),
            ("[%z%Z]%", "[]%"),
        ] {
            assert_eq!(strftime(format, &fields), expect);
        }
    }
}
