//! Converts values between Python's model and the engine's, and to Python's text.

use minijinja::Value as Inner;
use minijinja::value::ValueKind;
use modbox_sdk::{Dict, Value, json};

/// Converts a value for the engine.
pub(crate) fn inner(value: &Value) -> Inner {
    match value {
        Value::Null => Inner::from(()),
        Value::Bool(truth) => Inner::from(*truth),
        Value::Int(number) => Inner::from(*number),
        Value::Float(number) => Inner::from(*number),
        Value::BigInt(number) => {
            number.as_str().parse::<i128>().map_or_else(|_| Inner::from(number.as_str()), Inner::from)
        }
        Value::Str(text) => Inner::from(text.as_str()),
        Value::Surrogates(text) => Inner::from(text.to_string_lossy()),
        Value::List(items) => Inner::from(items.iter().map(inner).collect::<Vec<_>>()),
        Value::Dict(entries) => {
            Inner::from_pairs(entries.iter().map(|(key, value)| (Inner::from(key.as_str()), inner(value))))
        }
    }
}

/// Converts a value of the engine. A value that Python lacks becomes text.
pub(crate) fn outer(value: &Inner) -> Value {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => Value::Null,
        ValueKind::Bool => Value::Bool(value.is_true()),
        ValueKind::Number => number(value),
        ValueKind::Map => {
            let keys = value.try_iter().into_iter().flatten();
            let entry = |key: Inner| {
                let item = value.get_item(&key).map_or(Value::Null, |item| outer(&item));
                (json::str(&outer(&key)), item)
            };
            Value::Dict(keys.map(entry).collect::<Dict>())
        }
        ValueKind::Seq | ValueKind::Iterable => {
            Value::List(value.try_iter().into_iter().flatten().map(|item| outer(&item)).collect())
        }
        _ => Value::Str(value.to_string()),
    }
}

fn number(value: &Inner) -> Value {
    if value.is_integer() {
        let text = value.to_string();
        return text.parse().map(Value::Int).ok().or_else(|| Value::int_from_decimal(&text)).unwrap_or_default();
    }
    f64::try_from(value.clone()).map_or(Value::Null, Value::Float)
}

/// Returns the text of Python's `str`, and an empty text for `None`, as in Ansible's templates.
pub(crate) fn text(value: &Inner) -> String {
    match value.kind() {
        // The engine refuses undefined values earlier, so this is the value of an `if` without `else`.
        ValueKind::None | ValueKind::Undefined => String::new(),
        ValueKind::String => value.as_str().unwrap_or_default().to_owned(),
        ValueKind::Plain | ValueKind::Bytes | ValueKind::Invalid => value.to_string(),
        _ => json::str(&outer(value)),
    }
}

/// Returns JSON on several lines with sorted keys: `to_nice_json`.
pub(crate) fn nice_json(value: &Value, indent: usize) -> String {
    let mut out = String::new();
    write_nice(value, indent, 0, &mut out);
    out
}

fn write_nice(value: &Value, indent: usize, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&" ".repeat(indent * depth));
    };
    match value {
        Value::List(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                line(out, depth + 1);
                write_nice(item, indent, depth + 1, out);
            }
            line(out, depth);
            out.push(']');
        }
        Value::Dict(entries) if !entries.is_empty() => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            for (index, (key, item)) in sorted.into_iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                line(out, depth + 1);
                out.push_str(&json::encode(&Value::from(key.as_str())));
                out.push_str(": ");
                write_nice(item, indent, depth + 1, out);
            }
            line(out, depth);
            out.push('}');
        }
        other => out.push_str(&json::encode(other)),
    }
}
