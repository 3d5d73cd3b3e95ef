//! Keys and scalars of YAML nodes as values.

use minijinja::Value;
use modbox_jinja::values::{Calendar, Clock, Moment, Offset, equal, from_json};
use modbox_python_json::Value as Json;
use modbox_yaml::{Key, Source};

/// Returns the keys of a mapping.
pub(crate) fn keys(source: &Source) -> Vec<Value> {
    source.as_map().map(|map| map.iter().map(|(key, _)| key_value(key)).collect()).unwrap_or_default()
}

/// Returns the value of a key of a mapping.
pub(crate) fn get<'s>(source: &'s Source, key: &Value) -> Option<&'s Source> {
    let map = source.as_map()?;
    match key.as_str() {
        Some(text) => map.get(text),
        None => map
            .iter()
            .find(|(known, _)| !matches!(known, Key::Text(_)) && equal(&key_value(known), key) == Ok(true))
            .map(|(_, entry)| &entry.value),
    }
}

fn key_value(key: &Key) -> Value {
    match key {
        Key::Text(text) => Value::from(text.clone()),
        Key::Bool(truth) => Value::from(*truth),
        Key::Int(digits) => Json::int_from_decimal(digits).map_or_else(Value::default, |number| from_json(&number)),
        Key::Float(repr) => Value::from(modbox_jinja::values::parse_float(repr).unwrap_or(f64::NAN)),
        Key::Date(text) => date_value(text),
        Key::Null => Value::from(()),
    }
}

/// Returns the date, or the date with a time, that an ISO text names.
pub(crate) fn date_value(text: &str) -> Value {
    parse_date(text).unwrap_or_else(|| Value::from(text))
}

fn parse_date(text: &str) -> Option<Value> {
    let date = text.get(..10)?;
    let mut parts = date.splitn(3, '-');
    let date = Calendar::new(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?)?;
    if text.len() == 10 {
        return Some(Value::from_object(date));
    }
    let rest = text.get(11..)?;
    let (time, zone) = match rest.find(['+', '-', 'Z']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    Some(Value::from_object(Moment::new(date, parse_clock(time)?, parse_offset(zone)?)))
}

fn parse_clock(time: &str) -> Option<Clock> {
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = whole.splitn(3, ':');
    let (hour, minute, second) =
        (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Clock::new(hour, minute, second, format!("{fraction:0<6}").get(..6)?.parse().ok()?)
}

#[expect(clippy::option_option, reason = "a time without a zone is valid")]
fn parse_offset(zone: &str) -> Option<Option<Offset>> {
    if zone.is_empty() {
        return Some(None);
    }
    if zone == "Z" {
        return Some(Some(Offset { seconds: 0, name: None }));
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(Some(Offset { seconds: sign * (hours * 3600 + minutes * 60), name: None }))
}
