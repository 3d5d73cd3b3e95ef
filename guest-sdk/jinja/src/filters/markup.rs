//! Filters for HTML: `escape`, `striptags`, `urlize`, `xmlattr`.

use minijinja::Value;

use crate::call::{Call, flag};
use crate::failure::{Outcome, failure};
use crate::values::{View, entries, is_python_space, text, type_name, view};

/// Returns a text with HTML's special characters replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '>' => out.push_str("&gt;"),
            '<' => out.push_str("&lt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            _ => out.push(c),
        }
    }
    out
}

/// Replaces HTML's special characters, unless that was done before.
pub(super) fn escape(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["s"], [])?;
    if value.is_safe() {
        return Ok(value);
    }
    Ok(Value::from_safe_string(escaped(&text(&value)?)))
}

/// Replaces HTML's special characters, even for the second time.
pub(super) fn force_escape(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from_safe_string(escaped(&text(&value)?)))
}

/// Marks text as HTML.
pub(super) fn safe(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from_safe_string(text(&value)?))
}

/// Removes tags and comments, replaces runs of blanks by one, and resolves character references.
pub(super) fn strip_tags(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    let rest = without(&without(&text(&value)?, "<!--", "-->"), "<", ">");
    let words: Vec<&str> = rest.split(is_python_space).filter(|word| !word.is_empty()).collect();
    Ok(Value::from(unescaped(&words.join(" "))))
}

/// Removes everything from each start to the next end.
fn without(text: &str, start: &str, end: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(start) {
        let Some((_, after)) = behind.split_once(end) else { break };
        out.push_str(before);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Resolves the character references of markup: numbers, and the names that HTML shares with XML.
fn unescaped(text: &str) -> String {
    const NAMES: [(&str, &str); 12] = [
        ("amp", "&"),
        ("lt", "<"),
        ("gt", ">"),
        ("quot", "\""),
        ("apos", "'"),
        ("nbsp", "\u{a0}"),
        ("copy", "\u{a9}"),
        ("reg", "\u{ae}"),
        ("hellip", "\u{2026}"),
        ("mdash", "\u{2014}"),
        ("ndash", "\u{2013}"),
        ("euro", "\u{20ac}"),
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end <= 12);
        let name = end.map(|end| &rest[1..end]);
        let number = name.and_then(|name| name.strip_prefix('#')).and_then(|digits| {
            let hex = digits.strip_prefix(['x', 'X']);
            hex.map_or_else(|| digits.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())
        });
        let known =
            name.and_then(|name| NAMES.iter().find(|(known, _)| *known == name)).map(|(_, text)| (*text).to_owned());
        match (number.and_then(char::from_u32).map(String::from).or(known), end) {
            (Some(text), Some(end)) => {
                out.push_str(&text);
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Writes the entries of a dict as attributes of a tag.
pub(super) fn xml_attributes(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [space]) = call.bind(["d"], ["autospace"])?;
    let all =
        entries(&value).ok_or_else(|| failure(format!("'{}' object has no attribute 'items'", type_name(&value))))?;
    let mut out = Vec::new();
    for (key, item) in all {
        if item.is_none() || item.is_undefined() {
            continue;
        }
        let View::Str(name) = view(&key) else { return Err(failure("expected string or bytes-like object")) };
        let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '/' | '>' | '=');
        if name.contains(blank) {
            return Err(failure(format!(
                "Invalid character in attribute name: {}",
                modbox_python_json::str_repr(name)
            )));
        }
        let item = if item.is_safe() { text(&item)? } else { escaped(&text(&item)?) };
        out.push(format!("{}=\"{item}\"", escaped(name)));
    }
    let out = out.join(" ");
    let with_space = space.as_ref().is_none_or(|space| flag(Some(space))) && !out.is_empty();
    Ok(Value::from(if with_space { format!(" {out}") } else { out }))
}
