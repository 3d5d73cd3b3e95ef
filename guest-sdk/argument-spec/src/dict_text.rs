//! Reads `dict` options from text: JSON, a Python literal, or `key=value` words.

use modbox_python_json::{Dict, Value, decode};

use crate::literal::parse_literal;
use crate::number::python_strip;

/// Reads a dict from text.
///
/// # Errors
///
/// The reason in Ansible's words.
pub(crate) fn dict_from_text(text: &str) -> Result<Value, &'static str> {
    if text.starts_with('{') {
        return dict_from_braces(text).ok_or("unable to evaluate string as dictionary");
    }
    if !text.contains('=') {
        return Err("dictionary requested, could not parse JSON or key=value");
    }
    let mut entries = Dict::new();
    for word in split_words(python_strip(text)) {
        let (key, value) =
            word.split_once('=').ok_or("unable to evaluate string in the \"key=value\" format as dictionary")?;
        entries.insert(key.to_owned(), Value::from(value));
    }
    Ok(Value::Dict(entries))
}

fn dict_from_braces(text: &str) -> Option<Value> {
    let value = decode(text).ok().or_else(|| parse_literal(text))?;
    matches!(value, Value::Dict(_)).then_some(value)
}

/// Splits at commas and spaces outside quotes. A backslash keeps the next character as it is. Quotes and empty words
/// are removed, and an open quote ends with the text.
fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => words.last_mut().expect("never empty").extend(chars.next()),
            (_, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (',' | ' ', None) => words.push(String::new()),
            _ => words.last_mut().expect("never empty").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let got = dict_from_text(text).map_or_else(str::to_owned, |value| encode(&value));
        assert_eq!(got, expect, "for {text}");
    }

    #[test]
    fn reads_words() {
        check("a=1,b=2", r#"{"a": "1", "b": "2"}"#);
        check("a='x,y' c=d\\ e", r#"{"a": "x,y", "c": "d e"}"#);
        check("a=b=c,,=x a='b", r#"{"a": "b", "": "x"}"#);
        check("a b=c", "unable to evaluate string in the \"key=value\" format as dictionary");
        check("a", "dictionary requested, could not parse JSON or key=value");
    }

    #[test]
    fn reads_braces() {
        check("{\"a\": NaN}", r#"{"a": NaN}"#);
        check("{'a': 1}", r#"{"a": 1}"#);
        check("{a=1}", "unable to evaluate string as dictionary");
        check(" {'a': 1}", "dictionary requested, could not parse JSON or key=value");
    }
}
