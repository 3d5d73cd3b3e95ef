//! Bounds the size of arguments and texts in the audit log, and takes passwords of URLs out of them.

use modbox_python_json::{Dict, Value, encode};

use crate::module_digest::digest;
use crate::reports::url_passwords;

/// Bytes of one text that are logged.
pub(super) const MAX_TEXT: usize = 4 << 10;

/// Bytes of JSON for all arguments together.
const MAX_ARGUMENTS: usize = 64 << 10;

/// Shortens arguments that have no secrets, except perhaps passwords of URLs.
pub(super) fn bounded(arguments: Dict) -> Value {
    let shown = cut(url_passwords::mask(Value::Dict(arguments)));
    let text = encode(&shown);
    if text.len() <= MAX_ARGUMENTS { shown } else { omitted(&text) }
}

/// Shortens every long text in a value.
fn cut(value: Value) -> Value {
    match value {
        Value::Str(text) if text.len() > MAX_TEXT => cut_text(&text),
        Value::Surrogates(text) if text.units().len() > MAX_TEXT => cut_text(&text.to_string_lossy()),
        Value::List(items) => Value::List(items.into_iter().map(cut).collect()),
        Value::Dict(entries) => Value::Dict(entries.into_iter().map(|(key, value)| (key, cut(value))).collect()),
        other => other,
    }
}

fn cut_text(text: &str) -> Value {
    let head = &text[..text.floor_char_boundary(MAX_TEXT)];
    [("cut", Value::from(head)), ("bytes", (text.len() as u64).into()), ("sha256", digest(text.as_bytes()).into())]
        .into()
}

fn omitted(text: &str) -> Value {
    [("omitted_bytes", Value::from(text.len() as u64)), ("sha256", digest(text.as_bytes()).into())].into()
}

/// Shortens a text of one line, and appends its length. It has no passwords of URLs then.
pub(super) fn shortened(text: &str) -> String {
    let text = url_passwords::mask_text(text);
    match text.len() > MAX_TEXT {
        true => format!("{}… ({} bytes)", &text[..text.floor_char_boundary(MAX_TEXT)], text.len()),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_and_long_arguments_are_cut() {
        let text = "é".repeat(5000);
        let given = Dict::from_iter([("content".to_owned(), Value::from(text.as_str()))]);
        let value = bounded(given);
        let content = value.as_dict().unwrap()["content"].as_dict().unwrap();
        assert_eq!(content["bytes"], Value::from(10_000_u64));
        assert_eq!(content["cut"].as_str().unwrap().len(), MAX_TEXT);
        assert_eq!(content["sha256"], Value::from(digest(text.as_bytes())));
        let many: Dict = (0..10_000).map(|n| (format!("key{n}"), Value::from(1_u64))).collect();
        let value = bounded(many);
        assert!(encode(&value).len() < 200 && value.as_dict().unwrap().contains_key("omitted_bytes"));
    }
}
