//! Serialises [`Value`] in other serde formats, and inside structs that pass through [`from_value`](crate::from_value)
//! and [`to_value`](crate::to_value).
//!
//! Most formats cannot hold big integers and lone surrogates: there they become text, and the surrogates U+FFFD. The
//! serialiser and deserialiser of this crate recognise the names below and keep everything.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::decode::decode;
use crate::encode::encode;
use crate::value::{Dict, Surrogates, Value};

/// The name under which a [`Value`] asks this crate's deserializer for JSON text, as bytes.
pub(crate) const WHOLE: &str = "$modbox::Value";

/// The name under which a [`Value`] passes JSON text to this crate's serializer.
pub(crate) const AS_JSON: &str = "$modbox::Json";

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Str(text) => serializer.serialize_str(text),
            Self::BigInt(number) => serializer.serialize_newtype_struct(AS_JSON, number.as_str()),
            Self::Surrogates(text) => serializer.serialize_newtype_struct(AS_JSON, &LoneSurrogates(text, self)),
            Self::List(items) => serializer.collect_seq(items),
            Self::Dict(entries) => serializer.collect_map(entries),
        }
    }
}

/// Serialises as text for other formats, and as JSON text for this crate's, whose [`AS_JSON`] is not human-readable.
struct LoneSurrogates<'a>(&'a Surrogates, &'a Value);

impl Serialize for LoneSurrogates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.serialize_str(&self.0.to_string_lossy());
        }
        serializer.serialize_str(&encode(self.1))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(WHOLE, ValueVisitor { ours: true })
    }
}

/// Accepts the values of any format. Only this crate's deserializer answers the name [`WHOLE`] with bytes.
struct ValueVisitor {
    ours: bool,
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Self { ours: false })
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Value, E> {
        let json = String::from_utf8(bytes).ok().filter(|_| self.ours);
        match json.map(|json| decode(&json)) {
            Some(Ok(value)) => Ok(value),
            _ => Err(E::custom("bytes are not a JSON value")),
        }
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(truth.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut dict = Dict::new();
        while let Some((key, value)) = entries.next_entry()? {
            dict.insert(key, value);
        }
        Ok(Value::Dict(dict))
    }
}
