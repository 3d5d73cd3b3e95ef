//! Values of Python as JSON of every client: JSON has neither `NaN` nor integers of any size.

use modbox_python_json::Value;
use serde_json::{Map, Number};

/// Returns a value as JSON. What JSON lacks becomes the text that Python prints for it.
pub(crate) fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => Number::from_f64(*value).map_or_else(|| text(&Value::Float(*value)), Into::into),
        Value::BigInt(_) | Value::Surrogates(_) => text(value),
        Value::Str(value) => value.as_str().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Dict(entries) => serde_json::Value::Object(
            entries.iter().map(|(key, value)| (key.clone(), json(value))).collect::<Map<_, _>>(),
        ),
    }
}

fn text(value: &Value) -> serde_json::Value {
    modbox_python_json::str(value).into()
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[test]
    fn what_json_lacks_becomes_text() {
        let value =
            decode(r#"{"a": [1, NaN, -Infinity, 1.5, true, null, 123456789012345678901234567890], "b": "\udc80"}"#)
                .unwrap();
        let json = json(&value);
        assert_eq!(json["a"], serde_json::json!([1, "nan", "-inf", 1.5, true, null, "123456789012345678901234567890"]));
        assert!(json["b"].is_string());
    }
}
