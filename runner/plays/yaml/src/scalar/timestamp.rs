//! Dates, and times with a date, as Python's `isoformat` writes them.

/// A scalar in the form of a date. The numbers may be out of range.
#[derive(Debug)]
struct Timestamp<'a> {
    year: u32,
    month: u32,
    day: u32,
    /// Month and day have two digits.
    is_padded: bool,
    time: Option<Time<'a>>,
}

/// The part behind the date.
#[derive(Debug)]
struct Time<'a> {
    hour: u32,
    minute: u32,
    second: u32,
    fraction: &'a str,
    zone: Zone,
}

/// How far the time is from UTC.
#[derive(Debug)]
enum Zone {
    Unknown,
    Utc,
    Offset { is_west: bool, hours: u32, minutes: u32 },
}

/// Says whether a plain scalar is a date.
pub(super) fn is_timestamp(text: &str) -> bool {
    parse(text).is_some_and(|timestamp| timestamp.time.is_some() || timestamp.is_padded)
}

/// Returns what Python's `isoformat` writes for a scalar with the type of dates; `None` if there is no such date.
pub(crate) fn iso_text(text: &str) -> Option<String> {
    let Timestamp { year, month, day, time, .. } = parse(text.strip_suffix('\n').unwrap_or(text))?;
    if year == 0 || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    let Some(Time { hour, minute, second, fraction, zone }) = time else { return Some(date) };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let fraction = if fraction == "000000" { String::new() } else { format!(".{fraction}") };
    Some(format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}{}", iso_zone(&zone)?))
}

fn iso_zone(zone: &Zone) -> Option<String> {
    match *zone {
        Zone::Unknown => Some(String::new()),
        Zone::Utc => Some("+00:00".to_owned()),
        Zone::Offset { is_west, hours, minutes } => {
            let all = hours * 60 + minutes;
            let sign = if is_west && all > 0 { '-' } else { '+' };
            (all < 24 * 60).then(|| format!("{sign}{:02}:{:02}", all / 60, all % 60))
        }
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

fn parse(text: &str) -> Option<Timestamp<'_>> {
    let mut rest = text;
    let (year, _) = number(&mut rest, 4, 4)?;
    literal(&mut rest, '-')?;
    let (month, month_width) = number(&mut rest, 1, 2)?;
    literal(&mut rest, '-')?;
    let (day, day_width) = number(&mut rest, 1, 2)?;
    let is_padded = month_width == 2 && day_width == 2;
    let time = if rest.is_empty() { None } else { Some(parse_time(rest)?) };
    Some(Timestamp { year, month, day, is_padded, time })
}

fn parse_time(text: &str) -> Option<Time<'_>> {
    let mut rest = match text.strip_prefix(['T', 't']) {
        Some(rest) => rest,
        None => text.strip_prefix([' ', '\t'])?.trim_start_matches([' ', '\t']),
    };
    let (hour, _) = number(&mut rest, 1, 2)?;
    literal(&mut rest, ':')?;
    let (minute, _) = number(&mut rest, 2, 2)?;
    literal(&mut rest, ':')?;
    let (second, _) = number(&mut rest, 2, 2)?;
    let mut fraction = "";
    if literal(&mut rest, '.').is_some() {
        let width = digits_of(rest);
        (fraction, rest) = rest.split_at(width);
    }
    let zone = if rest.is_empty() { Zone::Unknown } else { parse_zone(rest.trim_start_matches([' ', '\t']))? };
    Some(Time { hour, minute, second, fraction, zone })
}

fn parse_zone(text: &str) -> Option<Zone> {
    if text == "Z" {
        return Some(Zone::Utc);
    }
    let is_west = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+'])?;
    let (hours, _) = number(&mut rest, 1, 2)?;
    let mut minutes = 0;
    if !rest.is_empty() {
        literal(&mut rest, ':')?;
        (minutes, _) = number(&mut rest, 2, 2)?;
    }
    rest.is_empty().then_some(Zone::Offset { is_west, hours, minutes })
}

/// Takes a number with so many digits off the front; returns it with its width.
fn number(rest: &mut &str, least: usize, most: usize) -> Option<(u32, usize)> {
    let width = digits_of(rest).min(most);
    let (digits, behind) = rest.split_at(width);
    *rest = behind;
    if width < least { None } else { Some((digits.parse().ok()?, width)) }
}

fn digits_of(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn literal(rest: &mut &str, character: char) -> Option<()> {
    *rest = rest.strip_prefix(character)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_plain: bool, wanted: Option<&str>) {
        assert_eq!((is_timestamp(text), iso_text(text).as_deref()), (is_plain, wanted), "{text}");
    }

    #[test]
    fn dates_are_those_of_yaml_1_1() {
        check("2001-12-14", true, Some("2001-12-14"));
        check("2001-1-4", false, Some("2001-01-04"));
        check("2001-12-14t21:59:43.10-05:00", true, Some("2001-12-14T21:59:43.100000-05:00"));
        check("2001-12-14 21:59:43.10 -5", true, Some("2001-12-14T21:59:43.100000-05:00"));
        check("2001-1-4 1:59:43", true, Some("2001-01-04T01:59:43"));
        check("2001-12-15 2:59:43.1234567Z", true, Some("2001-12-15T02:59:43.123456+00:00"));
        check("2001-12-15 2:59:43. \t-00:00", true, Some("2001-12-15T02:59:43+00:00"));
        check("2000-02-29", true, Some("2000-02-29"));
        check("1900-02-29", true, None);
        check("2001-13-01", true, None);
        check("0000-01-01", true, None);
        check("2001-01-01 24:00:00", true, None);
        check("2001-01-01 00:00:00+23:99", true, None);
        check("2001-01-01 00:00", false, None);
        check("2001-01-01x", false, None);
        check("20011-01-01", false, None);
        check("2001-01-01 ", false, None);
    }
}
