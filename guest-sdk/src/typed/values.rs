//! The types that fields of `Args` may have.

use std::collections::BTreeMap;
use std::path::PathBuf;

use modbox_python_json::{ConvertError, Dict, Value, str};

use super::option_value::{OptionValue, dict, unfit};
use super::pieces::Piece;

impl OptionValue for String {
    const TYPE: &'static str = "str";

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        match value {
            Value::Str(text) => Ok(text),
            // Choices may have any type.
            Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => Ok(str(&value)),
            other => Err(unfit(&other, "text")),
        }
    }
}

impl OptionValue for PathBuf {
    const TYPE: &'static str = "path";

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        match value {
            Value::Str(path) => Ok(path.into()),
            #[cfg(unix)]
            Value::Surrogates(path) if path.to_bytes().is_some() => {
                use std::os::unix::ffi::OsStringExt;
                Ok(std::ffi::OsString::from_vec(path.to_bytes().unwrap_or_default()).into())
            }
            other => Err(unfit(&other, "a path")),
        }
    }
}

impl OptionValue for bool {
    const TYPE: &'static str = "bool";

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        value.as_bool().ok_or_else(|| unfit(&value, "a bool"))
    }
}

impl OptionValue for f64 {
    const TYPE: &'static str = "float";

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        match value {
            Value::Float(number) => Ok(number),
            other => Err(unfit(&other, "a float")),
        }
    }
}

macro_rules! integers {
    ($($of:ty),*) => {
        $(impl OptionValue for $of {
            const TYPE: &'static str = "int";

            fn from_value(value: Value) -> Result<Self, ConvertError> {
                let number = match &value {
                    Value::Int(number) => Self::try_from(*number).ok(),
                    Value::BigInt(number) => number.as_str().parse().ok(),
                    // An option of type `int` does not convert bools.
                    Value::Bool(truth) => Some(Self::from(*truth)),
                    _ => None,
                };
                number.ok_or_else(|| unfit(&value, concat!("a number that fits in `", stringify!($of), "`")))
            }
        })*
    };
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl OptionValue for Value {
    const TYPE: &'static str = "raw";

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        Ok(value)
    }
}

impl OptionValue for Dict {
    const TYPE: &'static str = "dict";

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        dict(value)
    }
}

/// A dict whose values have one type. Ansible does not check them; this type does.
impl<T: OptionValue> OptionValue for BTreeMap<String, T> {
    const TYPE: &'static str = "dict";

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        let entry = |(key, value): (String, Value)| match T::from_value(value) {
            Ok(value) => Ok((key, value)),
            Err(error) => Err(error.inside(&key)),
        };
        dict(value)?.into_iter().map(entry).collect()
    }
}

impl<T: OptionValue> OptionValue for Vec<T> {
    const TYPE: &'static str = "list";
    const MORE: &'static [Piece] =
        &[Piece::Text(", \"elements\": \""), Piece::Text(T::TYPE), Piece::Text("\""), Piece::Of(T::MORE)];
    const ELEMENTS: &'static str = T::TYPE;
    const CHOICES: &'static [&'static str] = T::CHOICES;

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        let Value::List(items) = value else { return Err(unfit(&value, "a list")) };
        let item = |(index, item)| T::from_value(item).map_err(|error| error.inside(&format!("[{index}]")));
        items.into_iter().enumerate().map(item).collect()
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    const TYPE: &'static str = T::TYPE;
    const MORE: &'static [Piece] = T::MORE;
    const REQUIRED: bool = false;
    const ELEMENTS: &'static str = T::ELEMENTS;
    const CHOICES: &'static [&'static str] = T::CHOICES;

    fn from_value(value: Value) -> Result<Self, ConvertError> {
        if value == Value::Null { Ok(None) } else { T::from_value(value).map(Some) }
    }
}
