//! Converts any type that derives `Serialize` to a [`Value`].

use serde::ser::{self, Serialize, Serializer};

use crate::decode::decode;
use crate::from_value::ConvertError;
use crate::serde_value::AS_JSON;
use crate::text::str;
use crate::value::{Dict, Value};

/// Converts a `T` to a value.
///
/// # Errors
///
/// A map key is not text, or the type's `Serialize` failed.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ConvertError> {
    value.serialize(ValueSerializer { wants_json: false })
}

/// The serializer. `wants_json` shows lone surrogates that they can be kept; see `serde_value.rs`.
struct ValueSerializer {
    wants_json: bool,
}

fn single(key: &str, value: Value) -> Value {
    Value::from([(key, value)])
}

macro_rules! integers {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, number: $type) -> Result<Value, ConvertError> {
            Ok(i64::from(number).into())
        })*
    };
}

macro_rules! long_integers {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, number: $type) -> Result<Value, ConvertError> {
            Ok(Value::int_from_decimal(&number.to_string()).expect("an integer's text is decimal"))
        })*
    };
}

impl Serializer for ValueSerializer {
    type Ok = Value;
    type Error = ConvertError;
    type SerializeSeq = Sequence;
    type SerializeTuple = Sequence;
    type SerializeTupleStruct = Sequence;
    type SerializeTupleVariant = Sequence;
    type SerializeMap = Mapping;
    type SerializeStruct = Mapping;
    type SerializeStructVariant = Mapping;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32
    }

    long_integers! { serialize_i128: i128, serialize_u128: u128 }

    fn serialize_u64(self, number: u64) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn is_human_readable(&self) -> bool {
        !self.wants_json
    }

    fn serialize_bool(self, truth: bool) -> Result<Value, ConvertError> {
        Ok(truth.into())
    }

    fn serialize_f32(self, number: f32) -> Result<Value, ConvertError> {
        Ok(f64::from(number).into())
    }

    fn serialize_f64(self, number: f64) -> Result<Value, ConvertError> {
        Ok(number.into())
    }

    fn serialize_char(self, c: char) -> Result<Value, ConvertError> {
        Ok(c.to_string().into())
    }

    fn serialize_str(self, text: &str) -> Result<Value, ConvertError> {
        Ok(text.into())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, ConvertError> {
        Ok(Value::from_os_bytes(bytes))
    }

    fn serialize_none(self) -> Result<Value, ConvertError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, ConvertError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, ConvertError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, ConvertError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value, ConvertError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, ConvertError> {
        let value = value.serialize(Self { wants_json: name == AS_JSON })?;
        match value {
            Value::Str(json) if name == AS_JSON => decode(&json).map_err(ser::Error::custom),
            other => Ok(other),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, ConvertError> {
        Ok(single(variant, value.serialize(self)?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Sequence, ConvertError> {
        Ok(Sequence { variant: None, items: Vec::with_capacity(len.unwrap_or(0).min(1024)) })
    }

    fn serialize_tuple(self, len: usize) -> Result<Sequence, ConvertError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Sequence, ConvertError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Sequence, ConvertError> {
        Ok(Sequence { variant: Some(variant), items: Vec::new() })
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Mapping, ConvertError> {
        Ok(Mapping { variant: None, entries: Dict::new(), key: None })
    }

    fn serialize_struct(self, _name: &'static str, len: usize) -> Result<Mapping, ConvertError> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Mapping, ConvertError> {
        Ok(Mapping { variant: Some(variant), entries: Dict::new(), key: None })
    }
}

struct Sequence {
    variant: Option<&'static str>,
    items: Vec<Value>,
}

impl Sequence {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        self.items.push(to_value(value)?);
        Ok(())
    }

    fn finish(self) -> Value {
        let list = Value::List(self.items);
        match self.variant {
            Some(variant) => single(variant, list),
            None => list,
        }
    }
}

struct Mapping {
    variant: Option<&'static str>,
    entries: Dict,
    key: Option<String>,
}

impl Mapping {
    fn push<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), ConvertError> {
        self.entries.insert(key.to_owned(), to_value(value)?);
        Ok(())
    }

    fn finish(self) -> Value {
        let dict = Value::Dict(self.entries);
        match self.variant {
            Some(variant) => single(variant, dict),
            None => dict,
        }
    }
}

macro_rules! sequences {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Sequence {
            type Ok = Value;
            type Error = ConvertError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
                self.push(value)
            }

            fn end(self) -> Result<Value, ConvertError> {
                Ok(self.finish())
            }
        })*
    };
}

sequences! {
    SerializeSeq::serialize_element, SerializeTuple::serialize_element, SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
}

macro_rules! structs {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Mapping {
            type Ok = Value;
            type Error = ConvertError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ConvertError> {
                self.push(key, value)
            }

            fn end(self) -> Result<Value, ConvertError> {
                Ok(self.finish())
            }
        })*
    };
}

structs! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Mapping {
    type Ok = Value;
    type Error = ConvertError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        self.key = Some(match to_value(key)? {
            Value::Str(text) => text,
            number @ (Value::Int(_) | Value::BigInt(_)) => str(&number),
            other => return Err(ser::Error::custom(format!("a key must be text, not {}", other.type_name()))),
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let key = self.key.take().expect("serde gives a key before its value");
        self.push(&key, value)
    }

    fn end(self) -> Result<Value, ConvertError> {
        Ok(self.finish())
    }
}
