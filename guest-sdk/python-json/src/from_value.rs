//! Converts a [`Value`] to any type that derives `Deserialize`. Errors name the entry.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Unexpected};
use serde::de::{VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::encode::encode;
use crate::serde_value::WHOLE;
use crate::value::{BigInt, Value};

/// Why a value does not fit a type, or a type cannot become a value: ``at `users[2].name`: invalid type: …``.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertError {
    path: String,
    message: String,
}

impl ConvertError {
    /// Returns the path of the entry that does not fit, empty for the whole: `users[2].name`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the reason.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns an error about the whole value.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    /// Returns the same error for an entry of a parent: a key, or an index in brackets.
    #[must_use]
    pub fn inside(mut self, parent: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{parent}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "at `{}`: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConvertError {}

impl de::Error for ConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: String::new(), message: message.to_string() }
    }
}

impl serde::ser::Error for ConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        <Self as de::Error>::custom(message)
    }
}

/// Converts a value to a `T`. For an `Option`, a missing entry and null are both `None`.
///
/// # Errors
///
/// The value does not fit; the error names the entry.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ConvertError> {
    T::deserialize(ValueDeserializer(value))
}

struct ValueDeserializer(Value);

impl<'de> Deserializer<'de> for ValueDeserializer {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(truth),
            Value::Int(number) => visitor.visit_i64(number),
            Value::BigInt(number) => visit_big(&number, visitor),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Str(text) => visitor.visit_string(text),
            Value::Surrogates(text) => match text.to_bytes() {
                Some(bytes) => visitor.visit_byte_buf(bytes),
                None => Err(de::Error::invalid_type(Unexpected::Other("text with lone surrogates"), &visitor)),
            },
            Value::List(items) => visitor.visit_seq(Items { items: items.into_iter(), index: 0 }),
            Value::Dict(entries) => visitor.visit_map(Entries { entries: entries.into_iter(), current: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        if self.0 == Value::Null { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        if name == WHOLE {
            return visitor.visit_byte_buf(encode(&self.0).into_bytes());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        match self.0 {
            Value::Str(variant) => visitor.visit_enum(Variant { variant, content: None }),
            Value::Dict(entries) if entries.len() == 1 => {
                let (variant, content) = entries.into_iter().next().expect("there is one entry");
                visitor.visit_enum(Variant { variant, content: Some(content) })
            }
            other => Err(de::Error::custom(format!("invalid type: {}, expected a string", other.type_name()))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

fn visit_big<'de, V: Visitor<'de>>(number: &BigInt, visitor: V) -> Result<V::Value, ConvertError> {
    let text = number.as_str();
    if let Ok(number) = text.parse::<u64>() {
        return visitor.visit_u64(number);
    }
    if let Ok(number) = text.parse::<i128>() {
        return visitor.visit_i128(number);
    }
    Err(de::Error::invalid_value(Unexpected::Other("an integer beyond 128 bits"), &visitor))
}

struct Items {
    items: std::vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = ConvertError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ConvertError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let item =
            seed.deserialize(ValueDeserializer(item)).map_err(|error| error.inside(&format!("[{}]", self.index)))?;
        self.index += 1;
        Ok(Some(item))
    }
}

struct Entries {
    entries: indexmap::map::IntoIter<String, Value>,
    current: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = ConvertError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ConvertError> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        let seen = seed.deserialize(StrDeserializer::<ConvertError>::new(&key))?;
        self.current = Some((key, value));
        Ok(Some(seen))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ConvertError> {
        let (key, value) = self.current.take().expect("serde asks for a key before its value");
        seed.deserialize(ValueDeserializer(value)).map_err(|error| error.inside(&key))
    }
}

struct Variant {
    variant: String,
    content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = ConvertError;
    type Variant = Content;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Content), ConvertError> {
        let variant = seed.deserialize(StrDeserializer::<ConvertError>::new(&self.variant))?;
        Ok((variant, Content(self.content)))
    }
}

struct Content(Option<Value>);

impl Content {
    fn value(self) -> ValueDeserializer {
        ValueDeserializer(self.0.unwrap_or(Value::Null))
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = ConvertError;

    fn unit_variant(self) -> Result<(), ConvertError> {
        de::Deserialize::deserialize(self.value())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ConvertError> {
        seed.deserialize(self.value())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, ConvertError> {
        self.value().deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        self.value().deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{decode, encode, to_value};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct User {
        name: String,
        uid: Option<u32>,
        state: State,
        #[serde(default)]
        extra: Value,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum State {
        Present,
        Moved(String),
    }

    #[track_caller]
    fn check<T: DeserializeOwned + std::fmt::Debug>(json: &str, expect: &str) {
        let got = match from_value::<T>(decode(json).unwrap()) {
            Ok(value) => format!("{value:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expect, "for {json}");
    }

    #[test]
    fn fills_structs_and_loses_nothing() {
        let json = r#"{"name": "x", "uid": null, "state": {"moved": "y"}, "extra": [123456789012345678901234567890, NaN, "\udc80"]}"#;
        let user: User = from_value(decode(json).unwrap()).unwrap();
        assert_eq!(user.state, State::Moved("y".to_owned()));
        assert_eq!(encode(&to_value(&user).unwrap()), json);
        let whole: crate::Dict = from_value(decode(json).unwrap()).unwrap();
        assert_eq!(encode(&whole.into()), json);
    }

    #[test]
    fn names_what_does_not_fit() {
        let users = r#"[{"name": "x", "state": "present"}, {"name": 1, "state": "present"}]"#;
        check::<Vec<User>>(users, "at `[1].name`: invalid type: integer `1`, expected a string");
        check::<User>(r#"{"name": "x"}"#, "missing field `state`");
        check::<u8>("300", "invalid value: integer `300`, expected u8");
        check::<i64>("99999999999999999999", "invalid type: integer `99999999999999999999` as i128, expected i64");
        check::<Vec<State>>(r#"["gone"]"#, "at `[0]`: unknown variant `gone`, expected `present` or `moved`");
        check::<State>("1", "invalid type: int, expected a string");
    }

    #[test]
    fn values_take_what_other_formats_give() {
        let value: Value = serde_json::from_str(r#"{"a": [1, 2.5, null, true, "x"]}"#).unwrap();
        assert_eq!(encode(&value), r#"{"a": [1, 2.5, null, true, "x"]}"#);
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"a":[1,2.5,null,true,"x"]}"#);
    }
}
