//! JSON as Ansible shows results: with sorted keys, indented or on one line, and not limited to ASCII.

use modbox_python_json::{Dict, Value, encode};

/// Writes a dict as Python's `json.dumps` does with sorted keys.
#[must_use]
pub fn dumps(data: &Dict, indent: Option<usize>, ascii: bool) -> String {
    let mut text = String::new();
    write_dict(data, Style { indent, ascii, comma: if indent.is_some() { "," } else { ", " } }, 0, &mut text);
    text
}

#[derive(Clone, Copy)]
struct Style {
    indent: Option<usize>,
    ascii: bool,
    comma: &'static str,
}

fn write(value: &Value, style: Style, depth: usize, text: &mut String) {
    match value {
        Value::Dict(entries) => write_dict(entries, style, depth, text),
        Value::List(items) if items.is_empty() => text.push_str("[]"),
        Value::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, style, depth + 1, text);
                write(item, style, depth + 1, text);
            }
            end_line(style, depth, text);
            text.push(']');
        }
        Value::Str(string) if !style.ascii => write_text(string, text),
        other => text.push_str(&encode(other)),
    }
}

fn write_dict(entries: &Dict, style: Style, depth: usize, text: &mut String) {
    if entries.is_empty() {
        return text.push_str("{}");
    }
    let mut sorted: Vec<(&String, &Value)> = entries.iter().collect();
    sorted.sort_by_key(|(key, _)| *key);
    text.push('{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        separate(index, style, depth + 1, text);
        if style.ascii {
            text.push_str(&encode(&Value::from(key.as_str())));
        } else {
            write_text(key, text);
        }
        text.push_str(": ");
        write(value, style, depth + 1, text);
    }
    end_line(style, depth, text);
    text.push('}');
}

fn separate(index: usize, style: Style, depth: usize, text: &mut String) {
    if index > 0 {
        text.push_str(style.comma);
    }
    end_line(style, depth, text);
}

fn end_line(style: Style, depth: usize, text: &mut String) {
    if let Some(width) = style.indent {
        text.push('\n');
        text.push_str(&" ".repeat(width * depth));
    }
}

/// Writes text with the escapes of JSON, and all other characters as they are.
fn write_text(string: &str, text: &mut String) {
    use std::fmt::Write as _;
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            c if u32::from(c) < 0x20 => drop(write!(text, "\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_text_is_not_escaped() {
        let Ok(Value::Dict(data)) = modbox_python_json::decode(r#"{"b": [1, {}], "a": "é\n", "c": []}"#) else {
            panic!("it is a dict");
        };
        assert_eq!(dumps(&data, None, false), "{\"a\": \"é\\n\", \"b\": [1, {}], \"c\": []}");
        let indented = "{\n    \"a\": \"\\u00e9\\n\",\n    \"b\": [\n        1,\n        {}\n    ],\n    \"c\": []\n}";
        assert_eq!(dumps(&data, Some(4), true), indented);
    }
}
