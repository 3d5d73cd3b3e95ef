//! The value of an attribute, and its forms in arguments, JSON and messages.

use std::fmt;

use modbox_contract::Value;

use crate::text::Text;

/// Value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// No value: the attribute is not set.
    None,
    /// Text, also an option of an enum.
    Text(Text),
    /// A truth value.
    Boolean(bool),
    /// A list of texts.
    Array(Vec<Text>),
}

impl AttributeValue {
    /// Makes a value of text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// Returns the text of a text value.
    #[must_use]
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value in JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Text(text) => text.to_value(),
            Self::Boolean(truth) => Value::Bool(*truth),
            Self::Array(items) => Value::List(items.iter().map(Text::to_value).collect()),
        }
    }

    /// Reads a value from JSON. An integer becomes its decimal text, because providers print numbers of users and sizes
    /// as such; libral would read each integer as `true`. `None` for other types.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::None,
            Value::Bool(truth) => Self::Boolean(*truth),
            Value::Int(number) => Self::Text(number.to_string().into()),
            Value::BigInt(number) => Self::text(number.as_str()),
            Value::Str(_) | Value::Surrogates(_) => Self::Text(Text::from_value(value)?),
            Value::List(items) => Self::Array(items.iter().map(Text::from_value).collect::<Option<_>>()?),
            Value::Float(_) | Value::Dict(_) => return None,
        })
    }

    /// Returns the value without outer quotes, as libral prints changes.
    #[must_use]
    pub fn to_plain(&self) -> Vec<u8> {
        match self {
            Self::None => b"(none)".to_vec(),
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Boolean(truth) => truth.to_string().into_bytes(),
            Self::Array(items) => {
                let items: Vec<Vec<u8>> = items.iter().map(|item| quoted(item.as_bytes())).collect();
                [b"[", items.join(&b", "[..]).as_slice(), b"]"].concat()
            }
        }
    }

    /// Returns the value with quotes around text, as libral prints resources. Quotes in the text are not escaped.
    #[must_use]
    pub fn to_quoted(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => quoted(text.as_bytes()),
            other => other.to_plain(),
        }
    }
}

fn quoted(text: &[u8]) -> Vec<u8> {
    [b"'", text, b"'"].concat()
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_plain()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_libral_does() {
        let array = AttributeValue::Array(vec!["a".into(), "b c".into()]);
        for (value, plain, quoted) in [
            (AttributeValue::None, "(none)", "(none)"),
            (AttributeValue::text("it's"), "it's", "'it's'"),
            (AttributeValue::text(""), "", "''"),
            (AttributeValue::Boolean(true), "true", "true"),
            (array, "['a', 'b c']", "['a', 'b c']"),
            (AttributeValue::Array(Vec::new()), "[]", "[]"),
        ] {
            assert_eq!((value.to_plain(), value.to_quoted()), (plain.into(), quoted.into()), "{value:?}");
        }
    }

    #[test]
    fn json_has_the_same_values() {
        for value in [
            AttributeValue::None,
            AttributeValue::text("x"),
            AttributeValue::Boolean(false),
            AttributeValue::Array(vec!["a".into()]),
        ] {
            assert_eq!(AttributeValue::from_value(&value.to_value()), Some(value));
        }
        assert_eq!(AttributeValue::from_value(&Value::Int(1000)), Some(AttributeValue::text("1000")));
        for wrong in [Value::Float(1.5), Value::Dict(Default::default()), vec![Value::Bool(true)].into()] {
            assert_eq!(AttributeValue::from_value(&wrong), None, "{wrong:?}");
        }
    }
}
