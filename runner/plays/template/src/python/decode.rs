//! Results of Python plugins, from JSON with marks. They come from code that is not trusted.

use minijinja::Value;
use minijinja::value::Tuple;
use modbox_jinja::values::{Calendar, Clock, Duration, Moment, Offset, Table, from_json};
use modbox_python_json::{Dict, Value as Json};

use super::exchange::Exchange;
use crate::omit::Omit;

/// The key of a marked object that names what it stands for.
pub(super) const MARK: &str = "~";

/// The key of a marked object that has the content.
pub(super) const VALUE: &str = "v";

/// Levels of lists and dicts in an argument or a result.
pub(super) const MAX_DEPTH: usize = 200;

// Microseconds.
const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Bytes that a value takes in memory besides a text of its own.
const VALUE_BYTES: usize = 32;

/// Returns the bytes that the value of a result will take in memory. What is nested too deeply has none, since it has no value.
pub(super) fn size(json: &Json) -> usize {
    fn of(json: &Json, depth: usize) -> usize {
        let inner = match json {
            _ if depth > MAX_DEPTH => 0,
            Json::List(items) => items.iter().map(|item| of(item, depth + 1)).sum(),
            Json::Dict(entries) => {
                entries.iter().map(|(key, item)| VALUE_BYTES + key.len() + of(item, depth + 1)).sum()
            }
            Json::Str(text) => text.len(),
            Json::Surrogates(text) => text.units().len().saturating_mul(2),
            Json::BigInt(number) => number.as_str().len(),
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) => 0,
        };
        inner + VALUE_BYTES
    }
    of(json, 0)
}

/// Returns the value of a result. An undefined value in it is one of the exchange, or a new one.
///
/// # Errors
///
/// It is too deep, a key has no hash, or a mark is unknown or has the wrong content.
pub(super) fn value(exchange: &Exchange<'_>, json: &Json) -> Result<Value, String> {
    decode(exchange, json, 0)
}

fn decode(exchange: &Exchange<'_>, json: &Json, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("the result is nested more than {MAX_DEPTH} levels deep"));
    }
    match json {
        Json::List(items) => Ok(Value::from(list(exchange, items, depth)?)),
        Json::Dict(entries) => match entries.get(MARK).and_then(Json::as_str) {
            Some(mark) => marked(exchange, mark, entries, depth),
            None => {
                let pairs = entries
                    .iter()
                    .map(|(key, item)| Ok((Value::from(key.as_str()), decode(exchange, item, depth + 1)?)));
                pairs.collect::<Result<Vec<_>, String>>().map(Value::from_pairs)
            }
        },
        plain => Ok(from_json(plain)),
    }
}

fn list(exchange: &Exchange<'_>, items: &[Json], depth: usize) -> Result<Vec<Value>, String> {
    items.iter().map(|item| decode(exchange, item, depth + 1)).collect()
}

fn marked(exchange: &Exchange<'_>, mark: &str, entries: &Dict, depth: usize) -> Result<Value, String> {
    let content = entries.get(VALUE).unwrap_or(&Json::Null);
    let made = match (mark, content) {
        ("tuple", Json::List(items)) => Some(Value::from(Tuple::from(list(exchange, items, depth)?))),
        ("dict", Json::List(pairs)) => Some(dict(exchange, pairs, depth)?),
        ("omit", _) => Some(Omit::value()),
        ("undefined", Json::Int(number)) => exchange.kept(*number),
        ("undefined", Json::Str(reason)) => Some(exchange.undefined(reason)),
        ("bytes", Json::Str(text)) => bytes(text).map(Value::from_bytes),
        ("date", Json::Str(text)) => date(text).map(Value::from_object),
        ("datetime", Json::List(parts)) => moment(parts).map(Value::from_object),
        ("time", Json::Int(micros)) => clock(*micros).map(Value::from_object),
        ("timedelta", micros) => integer(micros).map(|micros| Value::from_object(Duration::from_micros(micros))),
        _ => None,
    };
    made.ok_or_else(|| format!("the plugin's answer has the unknown value `{mark}`"))
}

fn dict(exchange: &Exchange<'_>, pairs: &[Json], depth: usize) -> Result<Value, String> {
    let mut table = Table::default();
    for pair in pairs {
        let Some([key, item]) = pair.as_list() else { return Err("the plugin's answer has half an entry".to_owned()) };
        let inserted = table.insert(decode(exchange, key, depth + 1)?, decode(exchange, item, depth + 1)?);
        inserted.map_err(|error| error.to_string())?;
    }
    Ok(table.into_value())
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

fn date(text: &str) -> Option<Calendar> {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    Calendar::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
}

fn clock(micros: i64) -> Option<Clock> {
    let part = |whole: i64| u8::try_from(whole).ok();
    let (hour, minute, second) = (part(micros / HOUR)?, part(micros % HOUR / MINUTE)?, part(micros % MINUTE / SECOND)?);
    Clock::new(hour, minute, second, u32::try_from(micros % SECOND).ok()?)
}

fn moment(parts: &[Json]) -> Option<Moment> {
    let [micros, seconds, name] = parts else { return None };
    let offset = match seconds {
        Json::Null => None,
        seconds => {
            let seconds = i32::try_from(seconds.as_int()?).ok().filter(|seconds| seconds.unsigned_abs() < 86_400)?;
            Some(Offset { seconds, name: name.as_str().map(str::to_owned) })
        }
    };
    Moment::from_micros(integer(micros)?, offset)
}

fn integer(json: &Json) -> Option<i128> {
    match json {
        Json::Int(number) => Some((*number).into()),
        Json::BigInt(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use modbox_jinja::values::repr;
    use modbox_python_json::decode as parse;

    use super::*;
    use crate::engine::Engine;

    fn shown(text: &str) -> Result<String, String> {
        let evaluation = Engine::default().evaluation([].into_iter().collect());
        value(&Exchange::new(&evaluation), &parse(text).unwrap()).map(|value| repr(&value).unwrap())
    }

    #[test]
    fn marks_stand_for_what_json_lacks() {
        for (text, expect) in [
            (r#"{"~": "tuple", "v": [1, [2]]}"#, "(1, [2])"),
            (r#"{"~": "dict", "v": [[1, "a"], [{"~": "tuple", "v": [1]}, null]]}"#, "{1: 'a', (1,): None}"),
            (r#"{"~": "bytes", "v": "a\u00ff"}"#, r"b'a\xff'"),
            (r#"{"~": "date", "v": "2020-01-02"}"#, "datetime.date(2020, 1, 2)"),
            (r#"{"~": "datetime", "v": [0, null, null]}"#, "datetime.datetime(1970, 1, 1, 0, 0)"),
            (r#"{"~": "time", "v": 3661000001}"#, "datetime.time(1, 1, 1, 1)"),
            (r#"{"~": "timedelta", "v": 1000000}"#, "datetime.timedelta(seconds=1)"),
            (r#"{"a": "{{ 1 + 1 }}"}"#, "{'a': '{{ 1 + 1 }}'}"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expect), "{text}");
        }
    }

    #[test]
    fn the_size_of_a_value_is_that_in_memory() {
        for (text, expect) in [
            ("1", 32),
            ("\"abc\"", 35),
            ("[1, [2]]", 4 * 32),
            (r#"{"ab": "c"}"#, 32 + 34 + 33),
            ("123456789012345678901234567890", 62),
        ] {
            assert_eq!(size(&parse(text).unwrap()), expect, "{text}");
        }
    }

    #[test]
    fn answers_of_a_hostile_plugin_are_refused() {
        for text in [
            r#"{"~": "code", "v": 1}"#,
            r#"{"~": "tuple"}"#,
            r#"{"~": "dict", "v": [[1]]}"#,
            r#"{"~": "dict", "v": [[[], 1]]}"#,
            r#"{"~": "bytes", "v": "\u0100"}"#,
            r#"{"~": "date", "v": "2020-13-02"}"#,
            r#"{"~": "datetime", "v": [1e400, null, null]}"#,
            r#"{"~": "datetime", "v": [170141183460469231731687303715884105727, 99999, null]}"#,
            r#"{"~": "undefined", "v": 0}"#,
            r#"{"~": "undefined", "v": -1}"#,
            r#"{"~": "time", "v": -1}"#,
            r#"{"~": "time", "v": 9223372036854775807}"#,
        ] {
            shown(text).unwrap_err();
        }
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        shown(&deep).unwrap_err();
    }
}
