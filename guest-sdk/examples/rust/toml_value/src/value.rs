//! Converts between the values of arguments and those of TOML.

use modbox_sdk::{Context as _, Dict, Failure, Value};
use toml_edit::{Array, InlineTable};

/// Returns the TOML value of an argument.
pub(crate) fn to_toml(value: &Value) -> Result<toml_edit::Value, Failure> {
    Ok(match value {
        Value::Bool(truth) => (*truth).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Str(text) => of_text(text),
        Value::List(items) => {
            let items = items.iter().map(to_toml).collect::<Result<Array, _>>()?;
            toml_edit::Value::Array(items)
        }
        Value::Dict(entries) => {
            let entry = |(key, value): (&String, &Value)| Ok((key.clone(), to_toml(value)?));
            let entries = entries.iter().map(entry).collect::<Result<InlineTable, Failure>>()?;
            toml_edit::Value::InlineTable(entries)
        }
        other => None.with_context(|| format!("TOML has no value of type {}", other.type_name()))?,
    })
}

/// Reads a number or a bool, which `KEY=VALUE` gives as text.
fn of_text(text: &str) -> toml_edit::Value {
    match text.parse() {
        Ok(value @ (toml_edit::Value::Integer(_) | toml_edit::Value::Float(_) | toml_edit::Value::Boolean(_))) => value,
        _ => text.into(),
    }
}

/// Returns a value of TOML as one of arguments, to compare what both stand for and not how they are written.
pub(crate) fn of_toml(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => Value::Int(*number.value()),
        toml_edit::Value::Float(number) => Value::Float(*number.value()),
        toml_edit::Value::Boolean(truth) => Value::Bool(*truth.value()),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(items) => Value::List(items.iter().map(of_toml).collect()),
        toml_edit::Value::InlineTable(entries) => {
            let entry = |(key, value): (&str, &toml_edit::Value)| (key.to_owned(), of_toml(value));
            Value::Dict(entries.iter().map(entry).collect::<Dict>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let value = modbox_sdk::json::decode(r#"{"a": [1, 1.5, true, "x"], "b": {"c": "it's"}}"#).unwrap();
        assert_eq!(of_toml(&to_toml(&value).unwrap()), value);
        assert_eq!(to_toml(&"8080".into()).unwrap().as_integer(), Some(8080));
        assert_eq!(to_toml(&"8080 ports".into()).unwrap().as_str(), Some("8080 ports"));
        assert_eq!(to_toml(&Value::Null).unwrap_err().message(), "TOML has no value of type NoneType");
    }
}
