//! Notations in which programs write a secret: in quotes of JSON, Python, Rust and shells, and in URLs.
//!
//! They are what is looked for in text that no parser has read. Encodings that hide the text from its reader, such as
//! base64, are not among them.

use std::fmt::Write as _;

use modbox_python_json::{encode, str_repr};

/// Returns the notations of a text, also those that are the text itself.
pub(crate) fn of(text: &str) -> Vec<String> {
    let mut forms = again(text);
    forms.push(within_quotes(&str_repr(text)));
    // Of a longer text with quotes of both kinds, Python escapes the apostrophes.
    let longer = str_repr(&format!("{text}'\""));
    forms.push(longer[1..longer.len() - 4].to_owned());
    forms.push(json_utf8(text));
    forms.push(text.replace('\'', r#"'"'"'"#));
    for (kept, space) in [("/", "%20"), ("", "%20"), ("", "+")] {
        let url = percent(text, kept, space);
        forms.push(lower_digits(&url));
        forms.push(url);
    }
    forms
}

/// Returns the notations of a text that is written into JSON or a log.
pub(crate) fn again(text: &str) -> Vec<String> {
    vec![within_quotes(&encode(&text.into())), within_quotes(&format!("{text:?}"))]
}

fn within_quotes(quoted: &str) -> String {
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns what JSON with characters outside of ASCII has within the quotes (RFC 8259, section 7).
fn json_utf8(text: &str) -> String {
    let mut form = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => form.extend(['\\', c]),
            '\n' => form.push_str(r"\n"),
            '\r' => form.push_str(r"\r"),
            '\t' => form.push_str(r"\t"),
            '\u{8}' => form.push_str(r"\b"),
            '\u{c}' => form.push_str(r"\f"),
            '\0'..='\u{1f}' => write!(form, "\\u{:04x}", u32::from(c)).expect("a String takes every write"),
            _ => form.push(c),
        }
    }
    form
}

/// Returns a text as URLs write it: all bytes but letters, digits, `-._~` and those of `kept` as `%XX`, and a space as `space`.
fn percent(text: &str, kept: &str, space: &str) -> String {
    let mut form = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        match c {
            ' ' => form.push_str(space),
            _ if c.is_ascii_alphanumeric() || "-._~".contains(c) || kept.contains(c) => form.push(c),
            _ => write!(form, "%{byte:02X}").expect("a String takes every write"),
        }
    }
    form
}

/// Returns a URL with the digits of its `%XX` in lower case.
fn lower_digits(url: &str) -> String {
    let mut rest: usize = 0;
    let mut form = String::with_capacity(url.len());
    for c in url.chars() {
        form.push(if rest > 0 { c.to_ascii_lowercase() } else { c });
        rest = if c == '%' { 2 } else { rest.saturating_sub(1) };
    }
    form
}
