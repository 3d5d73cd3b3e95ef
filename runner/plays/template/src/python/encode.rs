//! Arguments of Python plugins as JSON with marks.

use std::sync::Arc;

use minijinja::{Error, ErrorKind, Value};
use modbox_jinja::values::{View, entries, items, view};
use modbox_python_json::{BigInt, Dict, Value as Json};

use super::decode::{MARK, MAX_DEPTH, VALUE};
use super::exchange::Exchange;
use crate::lazy::{LazyDict, LazyList};
use crate::marker::{Cause, Marker, Stop};
use crate::omit::Omit;
use crate::types::type_name;

/// Returns the arguments of a call. Templates in them are rendered; what is undefined in them stays so.
///
/// # Errors
///
/// A limit of the template, too many values, or one that has no form in Python outside of a template, such as a macro.
pub(super) fn arguments(exchange: &Exchange<'_>, arguments: &[Value]) -> Result<Json, Error> {
    let (named, positional) = match arguments.split_last() {
        Some((last, rest)) if last.is_kwargs() => (entries(last).unwrap_or_default(), rest),
        _ => (Vec::new(), arguments),
    };
    let args = positional.iter().map(|argument| encode(exchange, argument, 0)).collect::<Result<Vec<_>, _>>()?;
    let mut kwargs = Dict::new();
    for (name, value) in named {
        spend(exchange, name.as_str().unwrap_or_default().len())?;
        kwargs.insert(name.as_str().unwrap_or_default().to_owned(), encode(exchange, &value, 0)?);
    }
    Ok(Json::from([("args", Json::List(args)), ("kwargs", Json::Dict(kwargs))]))
}

/// Returns a value of a template, at a depth of lists and dicts.
///
/// # Errors
///
/// As [`arguments`].
pub(super) fn encode(exchange: &Exchange<'_>, value: &Value, depth: usize) -> Result<Json, Error> {
    if let Some(marker) = Marker::of(value) {
        return match marker.cause {
            Cause::Limit => Err(Stop(marker).into()),
            _ => undefined(exchange, marker),
        };
    }
    let viewed = view(value);
    spend(exchange, size(&viewed))?;
    if depth > MAX_DEPTH {
        return Err(failure(format!("a value is nested more than {MAX_DEPTH} levels deep")));
    }
    Ok(match viewed {
        View::Undefined => Json::Str(String::new()),
        View::None => Json::Null,
        View::Bool(truth) => Json::Bool(truth),
        View::Int(number) => integer(&number.to_string())?,
        View::Long(number) => integer(&number)?,
        View::Float(number) => Json::Float(number),
        View::Str(text) => Json::Str(text.to_owned()),
        View::Surrogates(text) => Json::Surrogates(text.clone()),
        View::Bytes(bytes) => marked("bytes", Json::Str(bytes.iter().copied().map(char::from).collect())),
        View::List => Json::List(list(exchange, value, depth)?),
        View::Tuple => marked("tuple", Json::List(list(exchange, value, depth)?)),
        View::Dict => dict(exchange, value, depth)?,
        View::Date(date) => marked("date", Json::Str(date.iso())),
        View::DateTime(moment) => {
            let offset = moment.offset();
            let seconds = offset.map_or(Json::Null, |offset| Json::Int(offset.seconds.into()));
            let name = offset.and_then(|offset| offset.name.clone()).map_or(Json::Null, Json::Str);
            marked("datetime", Json::List(vec![integer(&moment.instant().to_string())?, seconds, name]))
        }
        View::Time(clock) => {
            let (hour, minute, second, micros) = clock.0.as_hms_micro();
            let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
            marked("time", Json::Int(seconds * 1_000_000 + i64::from(micros)))
        }
        View::TimeDelta(duration) => marked("timedelta", integer(&duration.micros().to_string())?),
        View::Other if Omit::is(value) => marked("omit", Json::Null),
        View::Other => {
            return Err(failure(format!("a value of type '{}' cannot be given to a Python plugin", type_name(value))));
        }
    })
}

/// Returns the bytes that a value has in a message, at least, without those of what is in it.
fn size(view: &View<'_>) -> usize {
    let bytes = match view {
        View::Str(text) => text.len(),
        View::Long(digits) => digits.len(),
        View::Surrogates(text) => text.units().len().saturating_mul(2),
        // A character for each of them.
        View::Bytes(bytes) => bytes.len().saturating_mul(2),
        _ => 0,
    };
    bytes.saturating_add(1)
}

fn spend(exchange: &Exchange<'_>, size: usize) -> Result<(), Error> {
    exchange.spend(size).map_err(failure)
}

fn list(exchange: &Exchange<'_>, value: &Value, depth: usize) -> Result<Vec<Json>, Error> {
    let all = match value.downcast_object_ref::<LazyList>() {
        Some(list) => list.all(),
        None => items(value).map_err(|error| failure(error.to_string()))?,
    };
    all.iter().map(|item| encode(exchange, item, depth + 1)).collect()
}

fn dict(exchange: &Exchange<'_>, value: &Value, depth: usize) -> Result<Json, Error> {
    let all = match value.downcast_object_ref::<LazyDict>() {
        Some(dict) => dict.all(),
        None => entries(value).unwrap_or_default(),
    };
    if all.iter().all(|(key, _)| key.as_str().is_some_and(|key| key != MARK)) {
        let plain = all.iter().map(|(key, value)| {
            let key = key.as_str().unwrap_or_default();
            spend(exchange, key.len())?;
            Ok((key.to_owned(), encode(exchange, value, depth + 1)?))
        });
        return plain.collect::<Result<Dict, Error>>().map(Json::Dict);
    }
    let pair = |(key, value): &(Value, Value)| {
        Ok(Json::List(vec![encode(exchange, key, depth + 1)?, encode(exchange, value, depth + 1)?]))
    };
    all.iter().map(pair).collect::<Result<Vec<_>, Error>>().map(|pairs| marked("dict", Json::List(pairs)))
}

/// Returns a marker by its number in the exchange, and its text.
///
/// # Errors
///
/// Too many, or too long a text.
pub(super) fn undefined(exchange: &Exchange<'_>, marker: Arc<Marker>) -> Result<Json, Error> {
    spend(exchange, marker.message.len() + 1)?;
    let text = Json::Str(marker.message.to_string());
    let number = exchange.keep(marker).map_err(failure)?;
    Ok(marked("undefined", Json::List(vec![Json::Int(number), text])))
}

fn integer(text: &str) -> Result<Json, Error> {
    if let Ok(number) = text.parse() {
        return Ok(Json::Int(number));
    }
    BigInt::from_decimal(text).map(Json::BigInt).ok_or_else(|| failure(format!("`{text}` is not an integer")))
}

fn marked(kind: &str, value: Json) -> Json {
    Json::from([(MARK, Json::Str(kind.to_owned())), (VALUE, value)])
}

fn failure(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::evaluation::Evaluation;

    /// What may still be sent in a call.
    const LEFT: usize = 100_000;

    const MANY: usize = 2 * LEFT;

    fn encoded(evaluation: &Arc<Evaluation>, value: Value) -> Result<Json, String> {
        let exchange = Exchange::new(evaluation);
        exchange.spend((32 << 20) - LEFT).unwrap();
        arguments(&exchange, &[value]).map_err(|error| error.to_string())
    }

    #[test]
    fn all_that_is_long_counts() {
        let evaluation = Engine::default().evaluation([].into_iter().collect());
        let pair = |key: Value, value: Value| Value::from_pairs([(key, value)]);
        for (name, value) in [
            ("text", Value::from("a".repeat(MANY))),
            ("bytes", Value::from_bytes(vec![0; LEFT * 2 / 3])),
            ("key", pair(Value::from("a".repeat(MANY)), Value::from(1))),
            ("key of pairs", pair(Value::from_bytes(vec![0; MANY]), Value::from(1))),
            (
                "digits",
                modbox_jinja::values::from_json(&Json::BigInt(BigInt::from_decimal(&"9".repeat(MANY)).unwrap())),
            ),
            ("many", Value::from(vec![Value::from(vec![1; 1000]); MANY / 1000])),
        ] {
            let error = encoded(&evaluation, value).unwrap_err();
            assert!(error.contains("32 MiB"), "{name}: {error}");
        }
        evaluation.finish();
    }

    #[test]
    fn undefined_values_are_limited_by_number_and_text() {
        let evaluation = Engine::default().evaluation([].into_iter().collect());
        let absent = |text: &str| evaluation.absent(text.to_owned()).value();
        let list = |count: usize, text: &str| Value::from(vec![absent(text); count]);
        encoded(&evaluation, list(10_000, "a")).unwrap();
        let many = encoded(&evaluation, list(10_001, "a")).unwrap_err();
        assert!(many.contains("more than 10000 undefined values"), "{many}");
        let long = encoded(&evaluation, list(50, &"a".repeat(LEFT / 40))).unwrap_err();
        assert!(long.contains("32 MiB"), "{long}");
        evaluation.finish();
    }
}
