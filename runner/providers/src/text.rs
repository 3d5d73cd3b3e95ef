//! Text of any bytes. Arguments and output of programs need not be UTF-8, and no byte of them may be lost.

use std::borrow::Cow;
use std::fmt;

use modbox_contract::Value;

/// Text that is usually UTF-8, but need not be.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Vec<u8>);

impl Text {
    /// Makes a text of bytes.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Makes a text of a string value; `None` for a value that is not a string, or that no bytes stand for.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Str(text) => Some(text.as_str().into()),
            Value::Surrogates(text) => text.to_bytes().map(Self),
            _ => None,
        }
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Returns the text if it is UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        str::from_utf8(&self.0).ok()
    }

    /// Returns the text with U+FFFD for bytes that are not UTF-8.
    #[must_use]
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Returns whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text as a string value, in which other bytes are lone surrogates, as in Python.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::from_os_bytes(&self.0)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_lossy())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_as_values() {
        for bytes in [&b""[..], b"plain", "h\u{e9}".as_bytes(), b"a\xff\xfeb", b"\x80"] {
            let text = Text::from_bytes(bytes);
            assert_eq!(Text::from_value(&text.to_value()), Some(text), "{bytes:?}");
        }
        assert_eq!(Text::from_value(&Value::Int(1)), None);
    }
}
