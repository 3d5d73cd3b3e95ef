//! The declaration of an attribute: its type, what may be done with it, and the access to a path that it names.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::text::Text;
use crate::value::AttributeValue;

/// Declaration of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// What it means.
    pub description: String,
    /// Its type.
    pub attribute_type: AttributeType,
    /// Whether it can be read and set.
    pub kind: AttributeKind,
    /// What the provider does with the path that the value is; `None` if the value is not a path.
    pub access: Option<PathAccess>,
}

/// Type of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeType {
    /// Any text.
    String,
    /// `true` or `false`.
    Boolean,
    /// A list of texts.
    Array,
    /// One of these texts.
    Enum(Vec<String>),
}

/// Whether an attribute can be read, set, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeKind {
    /// It can only be read.
    Read,
    /// It can only be set.
    Write,
    /// Both.
    ReadWrite,
}

/// What a provider does with a path in an attribute. The words are those of modules' argument specs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// It reads the path.
    Read,
    /// It reads and writes the path.
    Write,
    /// It makes, replaces or removes the entry itself, such as a link.
    Entry,
}

/// Reason why a type or a kind in metadata is wrong, or why a text is not a value of a type.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    /// The type is unknown.
    #[error("unknown type `{0}`; expected one of string, boolean, array[string], enum[OPTION, …]")]
    UnknownType(String),
    /// The type is an enum without options.
    #[error("the enum `{0}` has no options, or an empty one")]
    EmptyOption(String),
    /// An option has other characters.
    #[error("invalid option `{0}` of an enum; options have only the characters a-z and 0-9")]
    BadOption(String),
    /// The kind is unknown.
    #[error("unknown kind `{0}`; expected one of r, w, rw")]
    UnknownKind(String),
    /// The access is unknown.
    #[error("unknown access `{0}`; expected one of read, write, entry")]
    UnknownAccess(String),
    /// The value has a type that no attribute has.
    #[error("{0} is not a value of an attribute; expected a string, a boolean, an integer or a list of strings")]
    WrongType(&'static str),
    /// The value has a type that other attributes have.
    #[error("`{text}` is not a value of type {expected}")]
    OtherType {
        /// The value.
        text: String,
        /// The type.
        expected: String,
    },
    /// The text is not a truth value.
    #[error("`{0}` is not a boolean; expected true or false")]
    NotBoolean(String),
    /// The text has an empty entry.
    #[error("`{0}` has an empty entry; separate entries by single commas")]
    EmptyEntry(String),
    /// The text is not an option of the enum.
    #[error("unknown value `{text}`; expected one of {}", options.join(", "))]
    NotAnOption {
        /// The text.
        text: String,
        /// The options.
        options: Vec<String>,
    },
}

impl AttributeType {
    /// Reads a value as a person or a provider writes it. A boolean is `true` or `false` in any case, the entries of an
    /// array are separated by commas, and an empty text is an empty array.
    ///
    /// # Errors
    ///
    /// The text is not a value of this type.
    pub fn parse(&self, text: &Text) -> Result<AttributeValue, ValueError> {
        let shown = || text.to_string_lossy().into_owned();
        match self {
            Self::String => Ok(AttributeValue::Text(text.clone())),
            Self::Boolean if text.as_bytes().eq_ignore_ascii_case(b"true") => Ok(AttributeValue::Boolean(true)),
            Self::Boolean if text.as_bytes().eq_ignore_ascii_case(b"false") => Ok(AttributeValue::Boolean(false)),
            Self::Boolean => Err(ValueError::NotBoolean(shown())),
            Self::Array if text.is_empty() => Ok(AttributeValue::Array(Vec::new())),
            Self::Array => {
                let entries = text.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                let entries: Vec<Text> = entries.map(Text::from_bytes).collect();
                match entries.iter().any(Text::is_empty) {
                    true => Err(ValueError::EmptyEntry(shown())),
                    false => Ok(AttributeValue::Array(entries)),
                }
            }
            Self::Enum(options) if options.iter().any(|option| *text == option.as_str()) => {
                Ok(AttributeValue::Text(text.clone()))
            }
            Self::Enum(options) => Err(ValueError::NotAnOption { text: shown(), options: options.clone() }),
        }
    }

    /// Converts a value of JSON to this type. A text may stand for a boolean or an array.
    ///
    /// # Errors
    ///
    /// The value has another type.
    pub fn convert(&self, value: AttributeValue) -> Result<AttributeValue, ValueError> {
        match (self, value) {
            (_, AttributeValue::None) => Ok(AttributeValue::None),
            (_, AttributeValue::Text(text)) => self.parse(&text),
            (Self::Boolean, boolean @ AttributeValue::Boolean(_)) => Ok(boolean),
            // An unquoted `true` is also the option of an enum.
            (Self::Enum(_) | Self::String, AttributeValue::Boolean(truth)) => self.parse(&truth.to_string().into()),
            (Self::Array, array @ AttributeValue::Array(_)) => Ok(array),
            (_, other) => Err(ValueError::OtherType { text: other.to_string(), expected: self.to_string() }),
        }
    }
}

impl FromStr for AttributeType {
    type Err = ValueError;

    /// Reads a type, ignoring all white space.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let compact: String = text.split_whitespace().collect();
        let options = match compact.as_str() {
            "string" => return Ok(Self::String),
            "boolean" => return Ok(Self::Boolean),
            "array[string]" => return Ok(Self::Array),
            other => other.strip_prefix("enum[").and_then(|rest| rest.strip_suffix(']')),
        };
        let options = options.ok_or_else(|| ValueError::UnknownType(text.to_owned()))?;
        let options: Vec<String> = options.split(',').map(str::to_owned).collect();
        if options.iter().any(String::is_empty) {
            return Err(ValueError::EmptyOption(text.to_owned()));
        }
        let is_plain = |option: &&String| option.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        match options.iter().find(|option| !is_plain(option)) {
            Some(bad) => Err(ValueError::BadOption(bad.clone())),
            None => Ok(Self::Enum(options)),
        }
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String => f.write_str("string"),
            Self::Boolean => f.write_str("boolean"),
            Self::Array => f.write_str("array[string]"),
            Self::Enum(options) => write!(f, "enum[{}]", options.join(", ")),
        }
    }
}

impl FromStr for AttributeKind {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "r" => Ok(Self::Read),
            "w" => Ok(Self::Write),
            "rw" => Ok(Self::ReadWrite),
            other => Err(ValueError::UnknownKind(other.to_owned())),
        }
    }
}

impl fmt::Display for AttributeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "r",
            Self::Write => "w",
            Self::ReadWrite => "rw",
        })
    }
}

impl PathAccess {
    /// Returns the word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Entry => "entry",
        }
    }
}

impl FromStr for PathAccess {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            "entry" => Ok(Self::Entry),
            other => Err(ValueError::UnknownAccess(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_without_white_space() {
        for (text, expect) in [
            ("string", "string"),
            (" bool ean\n", "boolean"),
            ("array [ string ]", "array[string]"),
            ("enum[true, false ,mask]", "enum[true, false, mask]"),
            ("enum[a]", "enum[a]"),
        ] {
            assert_eq!(text.parse::<AttributeType>().unwrap().to_string(), expect, "{text}");
        }
        for (text, expect) in [
            ("int", "unknown type `int`"),
            ("", "unknown type"),
            ("String", "unknown type"),
            ("array", "unknown type"),
            ("array[int]", "unknown type"),
            ("enum", "unknown type"),
            ("enum[a", "unknown type"),
            ("enum[a]b", "unknown type"),
            ("enum[]", "has no options"),
            ("enum[a,]", "an empty one"),
            ("enum[a,,b]", "an empty one"),
            ("enum[A]", "invalid option `A`"),
            ("enum[a-b]", "invalid option `a-b`"),
        ] {
            let error = text.parse::<AttributeType>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        }
    }

    #[test]
    fn kinds_and_accesses_are_words() {
        for kind in ["r", "w", "rw"] {
            assert_eq!(kind.parse::<AttributeKind>().unwrap().to_string(), kind);
        }
        for access in ["read", "write", "entry"] {
            assert_eq!(access.parse::<PathAccess>().unwrap().as_str(), access);
        }
        for wrong in ["", "wr", "RW", "x"] {
            assert!(wrong.parse::<AttributeKind>().is_err() && wrong.parse::<PathAccess>().is_err(), "{wrong}");
        }
    }

    #[track_caller]
    fn check(kind: &str, text: &str, expect: Result<AttributeValue, &str>) {
        let parsed = kind.parse::<AttributeType>().unwrap().parse(&text.into());
        match (parsed, expect) {
            (Ok(value), Ok(expect)) => assert_eq!(value, expect, "{kind} {text:?}"),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (parsed, _) => panic!("{kind} {text:?}: {parsed:?}"),
        }
    }

    #[test]
    fn text_is_read_by_type() {
        let array = |items: &[&str]| Ok(AttributeValue::Array(items.iter().map(|item| (*item).into()).collect()));
        check("string", " a=b' ", Ok(AttributeValue::text(" a=b' ")));
        check("boolean", "True", Ok(AttributeValue::Boolean(true)));
        check("boolean", "fAlse", Ok(AttributeValue::Boolean(false)));
        for wrong in ["", "yes", "1", " true"] {
            check("boolean", wrong, Err("is not a boolean"));
        }
        check("array[string]", "", array(&[]));
        check("array[string]", "a", array(&["a"]));
        check("array[string]", " a , b c,d", array(&["a", "b c", "d"]));
        for wrong in [",", "a,", "a, ,b", " "] {
            check("array[string]", wrong, Err("has an empty entry"));
        }
        check("enum[on,off]", "on", Ok(AttributeValue::text("on")));
        check("enum[on,off]", "On", Err("unknown value `On`; expected one of on, off"));
    }

    #[test]
    fn json_is_converted_by_type() {
        let array = AttributeValue::Array(vec!["a".into()]);
        for (kind, value, expect) in [
            ("string", AttributeValue::None, Some(AttributeValue::None)),
            ("string", AttributeValue::text("x"), Some(AttributeValue::text("x"))),
            ("string", AttributeValue::Boolean(true), Some(AttributeValue::text("true"))),
            ("string", array.clone(), None),
            ("boolean", AttributeValue::Boolean(true), Some(AttributeValue::Boolean(true))),
            ("boolean", AttributeValue::text("true"), Some(AttributeValue::Boolean(true))),
            ("boolean", array.clone(), None),
            ("array[string]", array.clone(), Some(array.clone())),
            ("array[string]", AttributeValue::text("a"), Some(array)),
            ("array[string]", AttributeValue::Boolean(true), None),
            ("enum[true,false]", AttributeValue::Boolean(true), Some(AttributeValue::text("true"))),
            ("enum[on]", AttributeValue::Boolean(true), None),
        ] {
            assert_eq!(kind.parse::<AttributeType>().unwrap().convert(value.clone()).ok(), expect, "{kind} {value:?}");
        }
    }
}
