//! Writes any type that derives `Serialize` as JSON text, without a [`Value`] in between.
//!
//! The text is that of [`encode`](crate::encode) for the value of [`to_value`](crate::to_value), with one exception: a
//! key that a type serialises twice is written twice.

use std::fmt::{Display, Write as _};

use serde::ser::{self, Serialize, Serializer};

use crate::encode::{float_text, write_text, write_value};
use crate::from_value::ConvertError;
use crate::serde_value::AS_JSON;
use crate::value::Value;

/// Bytes of an ordinary text. Longer ones make the buffer grow.
const ORDINARY: usize = 1 << 10;

/// Returns the JSON text of a `T`, as Python's `json.dumps` writes it: one line, ASCII only.
///
/// # Errors
///
/// A map key is not text, or the type's `Serialize` failed.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, ConvertError> {
    let mut out = String::with_capacity(ORDINARY);
    write(&mut out, value)?;
    Ok(out)
}

fn write<T: Serialize + ?Sized>(out: &mut String, value: &T) -> Result<(), ConvertError> {
    value.serialize(Writer { out, place: Place::Value })
}

/// Where a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Anywhere but in the places below.
    Value,
    /// The key of an entry: text, or an integer that becomes text.
    Key,
    /// In a newtype named [`AS_JSON`], whose text is JSON; see `serde_value.rs`.
    Json,
}

/// The serializer of one value.
struct Writer<'a> {
    out: &'a mut String,
    place: Place,
}

impl<'a> Writer<'a> {
    /// Returns the text to write a value to that no key can be.
    fn not_a_key(self, type_name: &str) -> Result<&'a mut String, ConvertError> {
        match self.place {
            Place::Key => Err(ser::Error::custom(format!("a key must be text, not {type_name}"))),
            Place::Value | Place::Json => Ok(self.out),
        }
    }

    fn word(self, word: &str, type_name: &str) -> Result<(), ConvertError> {
        self.not_a_key(type_name)?.push_str(word);
        Ok(())
    }

    fn integer(self, number: impl Display) -> Result<(), ConvertError> {
        let quote = if self.place == Place::Key { "\"" } else { "" };
        write!(self.out, "{quote}{number}{quote}").map_err(ser::Error::custom)
    }

    fn list(self) -> Result<Items<'a>, ConvertError> {
        Ok(Items::open(self.not_a_key("list")?, '[', "]"))
    }

    fn object(self) -> Result<Items<'a>, ConvertError> {
        Ok(Items::open(self.not_a_key("dict")?, '{', "}"))
    }

    /// Begins an object with the variant's name as its only key.
    fn variant(self, variant: &str) -> Result<&'a mut String, ConvertError> {
        let out = self.not_a_key("dict")?;
        out.push('{');
        write_text(out, variant);
        out.push_str(": ");
        Ok(out)
    }
}

macro_rules! integers {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, number: $type) -> Result<(), ConvertError> {
            self.integer(number)
        })*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = ConvertError;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    }

    fn is_human_readable(&self) -> bool {
        self.place != Place::Json
    }

    fn serialize_bool(self, truth: bool) -> Result<(), ConvertError> {
        self.word(if truth { "true" } else { "false" }, "bool")
    }

    fn serialize_f32(self, number: f32) -> Result<(), ConvertError> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), ConvertError> {
        self.word(&float_text(number), "float")
    }

    fn serialize_char(self, c: char) -> Result<(), ConvertError> {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), ConvertError> {
        match self.place {
            Place::Value | Place::Key => write_text(self.out, text),
            Place::Json => self.out.push_str(text),
        }
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), ConvertError> {
        let value = Value::from_os_bytes(bytes);
        let out = if value.as_str().is_some() { self.out } else { self.not_a_key(value.type_name())? };
        write_value(out, &value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), ConvertError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ConvertError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), ConvertError> {
        self.word("null", "NoneType")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), ConvertError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), ConvertError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ConvertError> {
        if name == AS_JSON {
            return value.serialize(Self { out: self.not_a_key("a JSON value")?, place: Place::Json });
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), ConvertError> {
        let out = self.variant(variant)?;
        write(out, value)?;
        out.push('}');
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Items<'a>, ConvertError> {
        self.list()
    }

    fn serialize_tuple(self, _len: usize) -> Result<Items<'a>, ConvertError> {
        self.list()
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Items<'a>, ConvertError> {
        self.list()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Items<'a>, ConvertError> {
        Ok(Items::open(self.variant(variant)?, '[', "]}"))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Items<'a>, ConvertError> {
        self.object()
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Items<'a>, ConvertError> {
        self.object()
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Items<'a>, ConvertError> {
        Ok(Items::open(self.variant(variant)?, '{', "}}"))
    }
}

/// A list or an object that is being written.
struct Items<'a> {
    out: &'a mut String,
    is_empty: bool,
    end: &'static str,
}

impl<'a> Items<'a> {
    fn open(out: &'a mut String, start: char, end: &'static str) -> Self {
        out.push(start);
        Self { out, is_empty: true, end }
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push_str(", ");
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        self.separate();
        write(self.out, value)
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        self.separate();
        key.serialize(Writer { out: self.out, place: Place::Key })
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        self.out.push_str(": ");
        write(self.out, value)
    }

    fn close(self) {
        self.out.push_str(self.end);
    }
}

macro_rules! sequences {
    ($($trait:ident::$method:ident),*) => {
        $(impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = ConvertError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
                self.item(value)
            }

            fn end(self) -> Result<(), ConvertError> {
                self.close();
                Ok(())
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
        $(impl ser::$trait for Items<'_> {
            type Ok = ();
            type Error = ConvertError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ConvertError> {
                self.key(key)?;
                self.value(value)
            }

            fn end(self) -> Result<(), ConvertError> {
                self.close();
                Ok(())
            }
        })*
    };
}

structs! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = ConvertError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        self.value(value)
    }

    fn end(self) -> Result<(), ConvertError> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use serde::Serialize;

    use super::*;
    use crate::{decode, encode, to_value};

    #[derive(Debug, Serialize)]
    enum Shape {
        Unit,
        Newtype(u8),
        Tuple(u8, bool),
        Struct { at: u8 },
    }

    #[derive(Debug, Serialize)]
    struct Inner<'a> {
        value: &'a Value,
        none: Option<u8>,
    }

    #[derive(Debug, Serialize)]
    struct Outer<'a> {
        id: &'a Value,
        #[serde(flatten)]
        inner: Inner<'a>,
    }

    #[track_caller]
    fn is_as_encoded<T: Serialize + Debug>(value: &T) {
        match to_value(value) {
            Ok(expect) => assert_eq!(to_json(value).unwrap(), encode(&expect)),
            Err(error) => assert_eq!(to_json(value).unwrap_err(), error, "{value:?}"),
        }
    }

    #[test]
    fn writes_what_the_encoder_writes_of_the_value() {
        let json = r#"{"a": ["\udcff", "\ud83d\ude00", 123456789012345678901234567890, NaN, -1.5, 1e+16, null, true],
            "é\n": {"": [], "b": {}}}"#;
        let value = decode(json).unwrap();
        is_as_encoded(&value);
        is_as_encoded(&Outer { id: &value, inner: Inner { value: &value, none: None } });
        is_as_encoded(&[Shape::Unit, Shape::Newtype(1), Shape::Tuple(2, false), Shape::Struct { at: 3 }]);
        is_as_encoded(&(u64::MAX, i128::MIN, 0.1_f32, 'é', "\u{2028}\"\\", Some(()), [0_u8; 0]));
        is_as_encoded(&BTreeMap::from([(-1, "minus one"), (7, "seven")]));
        is_as_encoded(&BTreeMap::from([('"', BTreeMap::from([(u64::MAX, Vec::<u8>::new())]))]));
    }

    #[test]
    fn a_key_must_be_text_or_an_integer() {
        is_as_encoded(&BTreeMap::from([(true, 1)]));
        is_as_encoded(&BTreeMap::from([((), 1)]));
        is_as_encoded(&BTreeMap::from([(vec![1], 1)]));
        is_as_encoded(&BTreeMap::from([(BTreeMap::from([("a", 1)]), 1)]));
        is_as_encoded(&BTreeMap::from([(Some("text"), 1)]));
    }
}
