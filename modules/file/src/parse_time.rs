//! Reads times as Python's `time.strptime` does, in English and in UTC.
//!
//! A directive takes as much as possible and leaves what the rest of the format needs, as Python's regular expressions
//! do. Zones, weeks and formats of a locale are refused by name.

use modbox_sdk::date::{Date, Month};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The parts read so far.
#[derive(Debug, Clone, Copy)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// The day of the year, which counts if month and day are not given.
    of_year: Option<i64>,
    afternoon: Option<bool>,
}

/// Returns the seconds since 1970, or an error in Python's words.
pub(crate) fn parse(text: &str, format: &str) -> Result<i64, String> {
    let fields = Fields { year: 1900, month: 1, day: 1, hour: 0, minute: 0, second: 0, of_year: None, afternoon: None };
    let format_parts = parts(format)?;
    let Some((fields, rest)) = read(text, &format_parts, fields) else {
        let [text, format] = [text, format].map(|text| modbox_sdk::json::repr(&text.into()));
        return Err(format!("time data {text} does not match format {format}"));
    };
    if !rest.is_empty() {
        return Err(format!("unconverted data remains: {rest}"));
    }
    let hour = match fields.afternoon {
        Some(afternoon) => fields.hour % 12 + if afternoon { 12 } else { 0 },
        None => fields.hour,
    };
    let day = match fields.of_year {
        Some(day) => days(fields.year, 1, 1).map(|first| first + day - 1),
        None => days(fields.year, fields.month, fields.day),
    };
    let day = day.ok_or("day is out of range for month")?;
    Ok(((day * 24 + hour) * 60 + fields.minute) * 60 + fields.second)
}

#[derive(Debug, Clone, Copy)]
enum FormatPart {
    Letter(char),
    Blank,
    Directive(char),
}

fn parts(format: &str) -> Result<Vec<FormatPart>, String> {
    let shown = modbox_sdk::json::repr(&format.into());
    let mut parts = Vec::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('%') => parts.push(FormatPart::Letter('%')),
                Some(directive) if "YymdHIMSjbBaApfT".contains(directive) => match directive {
                    'T' => parts.extend([
                        FormatPart::Directive('H'),
                        FormatPart::Letter(':'),
                        FormatPart::Directive('M'),
                        FormatPart::Letter(':'),
                        FormatPart::Directive('S'),
                    ]),
                    other => parts.push(FormatPart::Directive(other)),
                },
                Some(other) => return Err(format!("'{other}' is a bad directive in format {shown}")),
                None => return Err(format!("stray % in format {shown}")),
            },
            c if c.is_whitespace() => {
                if !matches!(parts.last(), Some(FormatPart::Blank)) {
                    parts.push(FormatPart::Blank);
                }
            }
            c => parts.push(FormatPart::Letter(c)),
        }
    }
    Ok(parts)
}

/// Reads a text by the parts of a format, and returns the rest.
fn read<'t>(text: &'t str, parts: &[FormatPart], fields: Fields) -> Option<(Fields, &'t str)> {
    let Some((part, parts)) = parts.split_first() else { return Some((fields, text)) };
    match part {
        FormatPart::Letter(letter) => {
            let first = text.chars().next()?;
            let same = first.to_lowercase().eq(letter.to_lowercase());
            if same { read(&text[first.len_utf8()..], parts, fields) } else { None }
        }
        FormatPart::Blank => {
            let rest = text.trim_start();
            if rest.len() == text.len() { None } else { read(rest, parts, fields) }
        }
        FormatPart::Directive(directive) => {
            let lengths = candidates(*directive, text);
            lengths.into_iter().find_map(|length| {
                let fields = set(*directive, &text[..length], fields)?;
                read(&text[length..], parts, fields)
            })
        }
    }
}

/// Returns the possible lengths of a directive's text, the longest first.
fn candidates(directive: char, text: &str) -> Vec<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (least, most) = match directive {
        'Y' => (4, 4),
        'y' => (2, 2),
        'j' => (1, 3),
        'f' => (1, 6),
        'b' | 'B' | 'a' | 'A' | 'p' => return name(directive, text).map(|(_, length)| length).into_iter().collect(),
        _ => (1, 2),
    };
    (least..=most.min(digits)).rev().collect()
}

/// Returns which name a text starts with, and its length.
fn name(directive: char, text: &str) -> Option<(i64, usize)> {
    let lower = text.get(..text.len().min(9)).map_or_else(|| text.to_lowercase(), str::to_lowercase);
    let names: Vec<&str> = match directive {
        'B' => MONTHS.to_vec(),
        'b' => MONTHS.iter().map(|name| &name[..3]).collect(),
        'A' => DAYS.to_vec(),
        'a' => DAYS.iter().map(|name| &name[..3]).collect(),
        _ => vec!["am", "pm"],
    };
    let found = names.iter().position(|name| lower.starts_with(name))?;
    Some((i64::try_from(found).ok()?, names[found].len()))
}

fn set(directive: char, text: &str, mut fields: Fields) -> Option<Fields> {
    let number = || text.parse::<i64>().ok();
    let within = |least: i64, most: i64| number().filter(|number| (least..=most).contains(number));
    match directive {
        'Y' => fields.year = number()?,
        'y' => fields.year = number().map(|year| if year <= 68 { 2000 + year } else { 1900 + year })?,
        'm' => fields.month = within(1, 12)?,
        'd' => fields.day = within(1, 31)?,
        'H' => fields.hour = within(0, 23)?,
        'I' => {
            fields.hour = within(1, 12)?;
            fields.afternoon = fields.afternoon.or(Some(false));
        }
        'M' => fields.minute = within(0, 59)?,
        'S' => fields.second = within(0, 61)?,
        'j' => fields.of_year = Some(within(1, 366)?),
        'b' | 'B' => fields.month = name(directive, text)?.0 + 1,
        'p' => fields.afternoon = Some(name(directive, text)?.0 == 1),
        // A day's name adds nothing to the date, and fractions are not kept.
        _ => {}
    }
    Some(fields)
}

/// Returns the days from 1970-01-01 to a date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(year.try_into().ok()?, month, day.try_into().ok()?).ok()?;
    Some(date.midnight().as_utc().unix_timestamp() / 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_times_as_strptime_does() {
        for (text, format, expect) in [
            ("202001020304.05", "%Y%m%d%H%M.%S", Ok(1_577_934_245)),
            ("19700101", "%Y%m%d", Ok(0)),
            ("29 Feb 2024", "%d %b  %Y", Ok(1_709_164_800)),
            ("01:02 PM March 3 69", "%I:%M %p %B %d %y", Ok(-26_218_680)),
            ("2024-366", "%Y-%j", Ok(1_735_603_200)),
            ("1/2/2020", "%m/%d/%Y", Ok(1_577_923_200)),
            ("2020111", "%Y%m%d", Ok(1_604_188_800)),
            ("20230231", "%Y%m%d", Err("day is out of range for month")),
            ("2023", "%Y%m", Err("time data '2023' does not match format '%Y%m'")),
            ("20230101x", "%Y%m%d", Err("unconverted data remains: x")),
            ("x", "%Q", Err("'Q' is a bad directive in format '%Q'")),
            ("x", "%", Err("stray % in format '%'")),
        ] {
            assert_eq!(parse(text, format), expect.map_err(str::to_owned), "{text} {format}");
        }
    }
}
