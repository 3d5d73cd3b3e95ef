//! A JSON value whose parts lie elsewhere, so that what is already there is written without a copy of it: a run has its
//! arguments and its report written in a few microseconds.
//!
//! What is written is what [`encode`](modbox_python_json::encode) writes of the same value.

use std::borrow::Cow;

use modbox_python_json::{Dict, Value, encode};

/// A value, or where it is.
#[derive(Debug, Clone)]
pub enum Item<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A count.
    Number(u64),
    /// A string.
    Text(Cow<'a, str>),
    /// An object that is there already.
    Dict(&'a Dict),
    /// A value that is there already.
    Value(&'a Value),
    /// A list.
    List(Vec<Item<'a>>),
    /// An object, its keys in order and each once.
    Object(Vec<(&'static str, Item<'a>)>),
}

impl<'a> From<&'a str> for Item<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<Option<&'a str>> for Item<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::from)
    }
}

impl From<String> for Item<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Item<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Item<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl<'a, T: AsRef<str>> FromIterator<&'a T> for Item<'a> {
    fn from_iter<I: IntoIterator<Item = &'a T>>(texts: I) -> Self {
        Self::List(texts.into_iter().map(|text| text.as_ref().into()).collect())
    }
}

impl Item<'_> {
    /// Writes the value behind a text.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(itoa::Buffer::new().format(*number)),
            Self::Text(text) => write_text(out, text),
            Self::Dict(entries) => write_dict(out, entries),
            Self::Value(value) => write_value(out, value),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    separate(out, at);
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(entries) => {
                out.push('{');
                for (at, (key, item)) in entries.iter().enumerate() {
                    separate(out, at);
                    write_key(out, key);
                    item.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Returns the value as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Copies all of it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.as_ref().into(),
            Self::Dict(entries) => Value::Dict((*entries).clone()),
            Self::Value(value) => (*value).clone(),
            Self::List(items) => Value::List(items.iter().map(Item::to_value).collect()),
            Self::Object(entries) => {
                Value::Dict(entries.iter().map(|(key, item)| ((*key).to_owned(), item.to_value())).collect())
            }
        }
    }
}

/// Writes one entry of an object, the first one being number 0.
pub(super) fn write_entry(out: &mut String, at: usize, key: &str, value: &Value) {
    separate(out, at);
    write_text(out, key);
    out.push_str(": ");
    write_value(out, value);
}

/// Writes what stands before an item.
pub(super) fn separate(out: &mut String, at: usize) {
    if at > 0 {
        out.push_str(", ");
    }
}

fn write_dict(out: &mut String, entries: &Dict) {
    out.push('{');
    for (at, (key, value)) in entries.iter().enumerate() {
        write_entry(out, at, key, value);
    }
    out.push('}');
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Str(text) => write_text(out, text),
        Value::Dict(entries) => write_dict(out, entries),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(out, at);
                write_value(out, item);
            }
            out.push(']');
        }
        other => out.push_str(&encode(other)),
    }
}

/// Writes a key of ours, and what stands behind it. None of them has anything to escape.
pub(super) fn write_key(out: &mut String, key: &'static str) {
    debug_assert!(is_plain(key.as_bytes()), "{key}");
    out.reserve(key.len() + 4);
    out.push('"');
    out.push_str(key);
    out.push_str("\": ");
}

/// Returns whether a string of JSON is the text itself. It looks at sixteen bytes at once, since nearly every text is.
fn is_plain(text: &[u8]) -> bool {
    let odd = |byte: &u8| !(b' '..=b'~').contains(byte) || *byte == b'"' || *byte == b'\\';
    let any_odd = |bytes: &[u8]| bytes.iter().fold(false, |any, byte| any | odd(byte));
    let (blocks, rest) = text.as_chunks::<16>();
    !blocks.iter().any(|block| any_odd(block)) && !any_odd(rest)
}

/// Most strings have nothing to escape, and are written as they are.
pub(super) fn write_text(out: &mut String, text: &str) {
    if is_plain(text.as_bytes()) {
        out.reserve(text.len() + 2);
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&encode(&text.into()));
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[test]
    fn writes_what_the_encoder_writes() {
        for json in [
            r#"{}"#,
            r#"{"a": [], "b": {}, "c": [{"d": null}, [true, false]], "": ""}"#,
            r#"{"long": "0123456789abcdef0123456789abcdef01234567\"", "longer": "0123456789\\0123456789", "x": "0123456789abcdef\n"}"#,
            r#"{"n": [0, -7, 123456789012345678901234567890, 1.0, 1e+16, NaN, -Infinity]}"#,
            r#"{"quote \" back \\ line \n \u00e9 \u007f": "\u2028 \ud83d\ude00 \"", "lone": "\udcff", "plain ~": "~ !"}"#,
        ] {
            let Value::Dict(entries) = decode(json).unwrap() else { panic!("no object") };
            assert_eq!(Item::Dict(&entries).to_text(), json);
            assert_eq!(encode(&Item::Dict(&entries).to_value()), json);
        }
    }

    #[test]
    fn what_is_put_together_is_the_same_as_text_and_as_a_value() {
        let inner = Dict::from_iter([("x".to_owned(), 1.into())]);
        let lone = decode(r#"["\udcff", -1.5]"#).unwrap();
        let names = ["a \"b\"".to_owned(), "c".to_owned()];
        let item = Item::Object(vec![
            ("none", Item::from(None)),
            ("flag", true.into()),
            ("number", u64::MAX.into()),
            ("numbers", Item::List([0, 7, 10, 1_234_567].map(Item::from).into())),
            ("text", "é".into()),
            ("owned", "t".to_owned().into()),
            ("dict", Item::Dict(&inner)),
            ("value", Item::Value(&lone)),
            ("list", names.iter().collect()),
            ("object", Item::Object(vec![("k", false.into()), ("l", Item::List(Vec::new()))])),
        ]);
        let written = item.to_text();
        assert_eq!(written, encode(&item.to_value()));
        assert!(
            written.starts_with(r#"{"none": null, "flag": true, "number": 18446744073709551615, "numbers": [0, 7, 10, 1234567], "text": "\u00e9""#)
        );
    }
}
