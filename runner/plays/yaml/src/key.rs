//! Keys of mappings, equal when Python's are.
//!
//! A mapping and its lookup are in `source`; this file only says when two keys are the same.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::Equivalent;

/// A key of a mapping. Keys are equal when Python's are: `1`, `1.0` and `true` are the same key.
#[derive(Debug, Clone)]
pub enum Key {
    /// A key that is text, without quotes and escapes.
    Text(Arc<str>),
    /// A boolean.
    Bool(bool),
    /// An integer, in decimal.
    Int(Arc<str>),
    /// A number with a fraction, as Python's `repr` writes it.
    Float(Arc<str>),
    /// A date, as Python's `isoformat` writes it.
    Date(Arc<str>),
    /// Null.
    Null,
}

/// What two equal keys have in common.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    Text(&'a str),
    Number(&'a str),
    Date(&'a str),
    Null,
}

/// A text to look up, without making a key of it.
pub(crate) struct Lookup<'a>(pub(crate) &'a str);

impl Key {
    /// Returns the text of [`Key::Text`].
    #[must_use]
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn identity(&self) -> Identity<'_> {
        match self {
            Self::Text(text) => Identity::Text(text),
            Self::Bool(true) => Identity::Number("1"),
            Self::Bool(false) => Identity::Number("0"),
            Self::Int(digits) => Identity::Number(digits),
            Self::Float(repr) if &**repr == "-0.0" => Identity::Number("0"),
            Self::Float(repr) => Identity::Number(repr.strip_suffix(".0").unwrap_or(repr)),
            Self::Date(text) => Identity::Date(text),
            Self::Null => Identity::Null,
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl Hash for Lookup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Identity::Text(self.0).hash(state);
    }
}

impl Equivalent<Key> for Lookup<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        key.as_text().is_some_and(|text| **text == *self.0)
    }
}

impl fmt::Display for Key {
    /// Writes the key as Python's `repr` does, except for dates, which stand alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&modbox_python_json::str_repr(text)),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(text) | Self::Float(text) | Self::Date(text) => f.write_str(text),
            Self::Null => f.write_str("None"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &Key, other: &Key, equal: bool) {
        assert_eq!(one == other, equal, "{one:?} {other:?}");
    }

    #[test]
    fn keys_are_equal_as_in_python() {
        let (int, float) = (|text: &str| Key::Int(text.into()), |text: &str| Key::Float(text.into()));
        check(&int("1"), &Key::Bool(true), true);
        check(&int("0"), &Key::Bool(false), true);
        check(&float("1.0"), &Key::Bool(true), true);
        check(&float("-0.0"), &int("0"), true);
        check(&float("1.5"), &int("1"), false);
        check(&Key::Text("1".into()), &int("1"), false);
        check(&Key::Text("2001-01-01".into()), &Key::Date("2001-01-01".into()), false);
        check(&Key::Null, &Key::Text("".into()), false);
    }
}
