//! The value model: everything that `json.loads` can return.
//!
//! `serde_json::Value` is not enough: it has no `NaN`, no integers beyond 64 bits and no strings with lone surrogates.
//! Ansible can send all of these, and a module can print them.

use indexmap::IndexMap;

/// A JSON object. Keeps insertion order, as a Python dict does.
pub type Dict = IndexMap<String, Value>;

/// A value that Python's `json` module can produce.
///
/// Equality is structural: `Int(1)` and `Float(1.0)` differ, unlike in Python, and `NaN` differs
/// from itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `None`
    #[default]
    Null,
    /// `True` or `False`
    Bool(bool),
    /// An `int` that fits in 64 bits.
    Int(i64),
    /// An `int` that does not fit in 64 bits.
    BigInt(BigInt),
    /// A `float`, `NaN` and the infinities included.
    Float(f64),
    /// A `str` without lone surrogates.
    Str(String),
    /// A `str` with at least one lone surrogate: Python's form of bytes that are not UTF-8.
    Surrogates(Surrogates),
    /// A `list`
    List(Vec<Value>),
    /// A `dict`
    Dict(Dict),
}

/// Decimal text of an integer outside the range of `i64`: an optional `-`, then digits without
/// leading zeros.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BigInt(String);

impl BigInt {
    /// Reads decimal text with an optional sign, and removes leading zeros. Returns `None` if the text is not a decimal
    /// integer. The number may be small; see [`Value::int_from_decimal`].
    #[must_use]
    pub fn from_decimal(text: &str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Self("0".to_owned()));
        }
        Some(Self(format!("{sign}{digits}")))
    }

    /// Returns the decimal text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A string with a lone surrogate, as UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Surrogates(pub(crate) Vec<u16>);

impl Surrogates {
    /// Returns the UTF-16 code units.
    #[must_use]
    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// Returns the text with each lone surrogate replaced by U+FFFD.
    #[must_use]
    pub fn to_string_lossy(&self) -> String {
        String::from_utf16_lossy(&self.0)
    }

    /// Returns the bytes that Python's error handler `surrogateescape` writes: U+DC80 to U+DCFF become the bytes 0x80
    /// to 0xFF. Returns `None` if the text has another lone surrogate.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.0.len());
        for unit in char::decode_utf16(self.0.iter().copied()) {
            match unit {
                Ok(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(error) => match error.unpaired_surrogate() {
                    escaped @ 0xDC80..=0xDCFF => bytes.push(escaped.to_le_bytes()[0]),
                    _ => return None,
                },
            }
        }
        Some(bytes)
    }
}

impl Value {
    /// Returns the smallest integer value for decimal text, or `None` if the text is not a decimal integer.
    #[must_use]
    pub fn int_from_decimal(text: &str) -> Option<Self> {
        if let Ok(small) = text.parse::<i64>() {
            return Some(Self::Int(small));
        }
        BigInt::from_decimal(text).map(|big| match big.0.parse::<i64>() {
            Ok(small) => Self::Int(small),
            Err(_) => Self::BigInt(big),
        })
    }

    /// Returns a string value of UTF-16 code units: [`Value::Str`] if they are well-formed.
    #[must_use]
    pub fn from_utf16(units: Vec<u16>) -> Self {
        match String::from_utf16(&units) {
            Ok(text) => Self::Str(text),
            Err(_) => Self::Surrogates(Surrogates(units)),
        }
    }

    /// Returns a string value of bytes, as Python's `os.fsdecode` does: UTF-8, with `surrogateescape` for every other
    /// byte.
    #[must_use]
    pub fn from_os_bytes(bytes: &[u8]) -> Self {
        if let Ok(text) = str::from_utf8(bytes) {
            return Self::Str(text.to_owned());
        }
        let mut units = Vec::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            units.extend(chunk.valid().encode_utf16());
            units.extend(chunk.invalid().iter().map(|byte| 0xDC00 | u16::from(*byte)));
        }
        Self::Surrogates(Surrogates(units))
    }

    /// Returns the text of a [`Value::Str`].
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the truth of a [`Value::Bool`].
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Returns the number of a [`Value::Int`].
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the items of a [`Value::List`].
    #[must_use]
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a [`Value::Dict`].
    #[must_use]
    pub fn as_dict(&self) -> Option<&Dict> {
        match self {
            Self::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the result of Python's `bool()`: false for `None`, `False`, zero and empty.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(truth) => *truth,
            Self::Int(number) => *number != 0,
            Self::BigInt(number) => number.as_str() != "0",
            Self::Float(number) => *number != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Surrogates(_) => true,
            Self::List(items) => !items.is_empty(),
            Self::Dict(entries) => !entries.is_empty(),
        }
    }

    /// Returns Python's name of the type: `str int float bool list dict NoneType`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::BigInt(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) | Self::Surrogates(_) => "str",
            Self::List(_) => "list",
            Self::Dict(_) => "dict",
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self::BigInt(BigInt(number.to_string())), Self::Int)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<std::borrow::Cow<'_, str>> for Value {
    fn from(text: std::borrow::Cow<'_, str>) -> Self {
        Self::Str(text.into_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<Dict> for Value {
    fn from(entries: Dict) -> Self {
        Self::Dict(entries)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<const N: usize, K: Into<String>, V: Into<Value>> From<[(K, V); N]> for Value {
    fn from(entries: [(K, V); N]) -> Self {
        Self::Dict(entries.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_as_surrogates() {
        let value = Value::from_os_bytes(b"caf\xc3\xa9 \xff\xe9");
        let Value::Surrogates(text) = &value else { panic!("{value:?}") };
        assert_eq!(text.to_bytes().unwrap(), b"caf\xc3\xa9 \xff\xe9");
        assert_eq!(text.to_string_lossy(), "café \u{fffd}\u{fffd}");
    }

    #[test]
    fn integers_take_the_smallest_form() {
        assert_eq!(Value::int_from_decimal("007"), Some(Value::Int(7)));
        assert_eq!(Value::int_from_decimal("-0"), Some(Value::Int(0)));
        assert_eq!(Value::int_from_decimal("9223372036854775807"), Some(Value::Int(i64::MAX)));
        assert!(matches!(Value::int_from_decimal("9223372036854775808"), Some(Value::BigInt(_))));
        assert_eq!(Value::int_from_decimal("1_0"), None);
        assert_eq!(Value::int_from_decimal(""), None);
    }
}
