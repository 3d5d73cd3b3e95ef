//! Conversion between Python's JSON values and those of the engine.

use minijinja::Value;
use modbox_python_json::{BigInt, Dict, Value as Json, repr};

use super::opaque::{LongInteger, SurrogateText};
use super::text::text;
use super::view::{View, entries, items, type_name, view};
use super::walk::{ValueError, Walk};

/// Converts a value for the engine. No value is changed or lost.
#[must_use]
pub fn from_json(value: &Json) -> Value {
    match value {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Int(number) => Value::from(*number),
        Json::Float(number) => Value::from(*number),
        Json::BigInt(number) => number
            .as_str()
            .parse::<i128>()
            .map_or_else(|_| Value::from_object(LongInteger(number.clone())), Value::from),
        Json::Str(text) => Value::from(text.as_str()),
        Json::Surrogates(text) => Value::from_object(SurrogateText(text.clone())),
        Json::List(items) => Value::from(items.iter().map(from_json).collect::<Vec<_>>()),
        Json::Dict(entries) => {
            Value::from_pairs(entries.iter().map(|(key, value)| (Value::from(key.as_str()), from_json(value))))
        }
    }
}

/// Converts a value of the engine as Python's `json` module would: a tuple becomes a list, a key that is a number, a
/// bool or `None` becomes text, and a date its ISO text.
///
/// # Errors
///
/// JSON lacks the value or a key, or the value is undefined or too deep.
pub fn to_json(value: &Value) -> Result<Json, ValueError> {
    convert(value, &mut Walk::default())
}

fn convert(value: &Value, walk: &mut Walk) -> Result<Json, ValueError> {
    Ok(match view(value) {
        View::Undefined => return Err(ValueError::Undefined),
        View::None => Json::Null,
        View::Bool(truth) => Json::Bool(truth),
        View::Int(number) => {
            i64::try_from(number).map(Json::Int).or_else(|_| long(&number.to_string())).unwrap_or_default()
        }
        View::Long(number) => long(&number)?,
        View::Float(number) => Json::Float(number),
        View::Str(text) => Json::Str(text.to_owned()),
        View::Surrogates(text) => Json::Surrogates(text.clone()),
        View::Bytes(bytes) => Json::from_os_bytes(bytes),
        View::List | View::Tuple => walk.deeper(|walk| {
            let converted = items(value)?.iter().map(|item| convert(item, walk)).collect::<Result<Vec<_>, _>>();
            converted.map(Json::List)
        })?,
        View::Dict => walk.deeper(|walk| convert_dict(value, walk))?,
        View::Date(_) | View::DateTime(_) => Json::Str(text(value)?.replacen(' ', "T", 1)),
        View::Time(_) | View::TimeDelta(_) | View::Other => return Err(ValueError::NotJson(type_name(value))),
    })
}

fn long(text: &str) -> Result<Json, ValueError> {
    BigInt::from_decimal(text).map(Json::BigInt).ok_or(ValueError::TooLarge)
}

fn convert_dict(value: &Value, walk: &mut Walk) -> Result<Json, ValueError> {
    let mut out = Dict::new();
    for (key, item) in entries(value).unwrap_or_default() {
        out.insert(key_text(&key)?, convert(&item, walk)?);
    }
    Ok(Json::Dict(out))
}

/// Returns the text that Python's `json` module writes for a key.
///
/// # Errors
///
/// The key is not text, a number, a bool or `None`.
pub(crate) fn key_text(key: &Value) -> Result<String, ValueError> {
    Ok(match view(key) {
        View::Str(text) => text.to_owned(),
        View::Bool(truth) => truth.to_string(),
        View::None => "null".to_owned(),
        View::Int(number) => number.to_string(),
        View::Long(number) => number.into_owned(),
        View::Float(number) if number.is_nan() => "NaN".to_owned(),
        View::Float(number) if number.is_infinite() => if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        View::Float(number) => repr(&Json::Float(number)),
        _ => return Err(ValueError::NotJsonKey(type_name(key))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use modbox_python_json::decode;

    #[test]
    fn every_value_survives() {
        let text = r#"{"n": 123456789012345678901234567890123456789012, "i": 12345678901234567890, "s": "\ud800x",
            "f": [1.0, -0.0, 1e400, true, null, {}, []], "": {"a b": "c"}}"#;
        let value = decode(text).unwrap();
        assert_eq!(to_json(&from_json(&value)).unwrap(), value);
        let nan = to_json(&from_json(&Json::Float(f64::NAN))).unwrap();
        assert!(matches!(nan, Json::Float(number) if number.is_nan()));
    }

    #[test]
    fn keys_become_text() {
        let keys = [Value::from(1), Value::from(()), Value::from(1.5), Value::from("a")];
        let dict = Value::from_pairs(keys.map(|key| (key, Value::from(true))));
        let expect = Json::from([("1", true), ("null", true), ("1.5", true), ("a", true)]);
        assert_eq!(to_json(&dict).unwrap(), expect);
        let wrong = Value::from_pairs([(Value::from((1, 2)), Value::from(1))]);
        assert_eq!(to_json(&wrong), Err(ValueError::NotJsonKey("tuple")));
    }

    #[test]
    fn deep_values_are_refused() {
        let deep = (0..2000).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
        assert_eq!(to_json(&deep), Err(ValueError::TooDeep));
    }
}
