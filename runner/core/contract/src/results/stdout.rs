//! Finds the JSON object in a module's output.
//!
//! Standard output also holds other text: login banners, messages of libraries, debug prints. ansible-core 2.19
//! (`_filter_non_json_lines`) drops whole lines before the first that starts with `{` and after the last that ends with
//! `}`; the rest must be one JSON document. It splits lines like Python's `str.splitlines`, which also splits at U+2028
//! and six other characters. Such a character inside a JSON string therefore breaks the document, which is why modbox
//! prints only ASCII.

use std::borrow::Cow;

use crate::lines::split_lines;

/// The text of a stream that may hold bytes that are not UTF-8.
///
/// Ansible decodes a stream with `surrogateescape`: each byte that is not UTF-8 becomes a lone surrogate. A Rust string
/// cannot hold surrogates, so there are two readings, split into lines at the same places.
#[derive(Debug)]
pub(crate) struct StreamText<'a> {
    /// The text with one U+FFFD for each such byte. Positions equal Python's; content is lost.
    pub(crate) lossy: Cow<'a, str>,
    /// The text with a JSON escape for each such byte. Content equals Python's; positions differ. `None` when every
    /// byte is UTF-8.
    pub(crate) escaped: Option<String>,
}

impl<'a> StreamText<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        if let Ok(text) = str::from_utf8(bytes) {
            return Self { lossy: text.into(), escaped: None };
        }
        let (mut lossy, mut escaped) = (String::new(), String::new());
        for chunk in bytes.utf8_chunks() {
            lossy.push_str(chunk.valid());
            escaped.push_str(chunk.valid());
            for byte in chunk.invalid() {
                lossy.push(char::REPLACEMENT_CHARACTER);
                escaped.push_str(&format!("\\udc{byte:02x}"));
            }
        }
        Self { lossy: lossy.into(), escaped: Some(escaped) }
    }
}

/// The lines that hold the JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonLines {
    /// Those lines, joined by newlines.
    pub json: String,
    /// The lines after them, unless all are blank.
    pub junk_after: Option<String>,
}

/// Picks the lines that should be a JSON object, as ansible-core does with a module's output.
///
/// # Errors
///
/// No line starts with `{`, or no later line ends with `}`. The message is Ansible's.
pub fn json_lines(text: &str) -> Result<JsonLines, &'static str> {
    pick(text, &[('{', '}')])
}

/// Picks lines like [`json_lines`], by the rule of Ansible 2.9: a line that starts with `[` also begins the document,
/// which then has to end with `]`.
pub(crate) fn json_lines_or_list(text: &str) -> Result<JsonLines, &'static str> {
    pick(text, &[('{', '}'), ('[', ']')])
}

fn pick(text: &str, brackets: &[(char, char)]) -> Result<JsonLines, &'static str> {
    let lines = split_lines(text);
    let end_of = |line: &str| brackets.iter().find(|(start, _)| strip(line).starts_with(*start)).map(|(_, end)| *end);
    let found = lines.iter().enumerate().find_map(|(at, line)| Some((at, end_of(line)?)));
    let (start, end) = found.ok_or("No start of json char found")?;
    let lines = &lines[start..];
    let last = lines.iter().rposition(|line| strip(line).ends_with(end)).ok_or("No end of json char found")?;
    let (json, junk) = lines.split_at(last + 1);
    let is_junk = junk.iter().any(|line| !strip(line).is_empty());
    Ok(JsonLines { json: json.join("\n"), junk_after: is_junk.then(|| junk.join("\n")) })
}

/// Returns the lines that could be a JSON object by themselves, the last one first. This is for programs that print a
/// log and then a result: Ansible's rule refuses such output when a line of the log starts with `{`.
pub(crate) fn object_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = split_lines(text).into_iter().rev().map(strip);
    lines.filter(|line| line.starts_with('{') && line.ends_with('}'))
}

/// Strips white space like Python's `str.strip`: Unicode's white space and the four ASCII separators.
fn strip(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_object() {
        for (text, json, junk) in [
            ("{}", "{}", None),
            ("motd\n {\"a\":\n1} \n \n", " {\"a\":\n1} ", None),
            ("[1]\n{}\nbye\n\n", "{}", Some("bye\n")),
            ("{}\n{}\nx", "{}\n{}", Some("x")),
            ("{\u{2028}}", "{\n}", None),
        ] {
            let expect = JsonLines { json: json.to_owned(), junk_after: junk.map(str::to_owned) };
            assert_eq!(json_lines(text), Ok(expect), "for {text:?}");
        }
        for text in ["", "x {}", "[1]", "\u{feff}{}", "\u{1b}[0m{}"] {
            assert_eq!(json_lines(text), Err("No start of json char found"), "for {text:?}");
        }
        for text in ["{", "{} x", "}\n{"] {
            assert_eq!(json_lines(text), Err("No end of json char found"), "for {text:?}");
        }
    }

    #[test]
    fn keeps_invalid_utf8_in_two_readings() {
        let text = StreamText::new(b"a\xff\xe2\x82b");
        assert_eq!(text.lossy, "a\u{fffd}\u{fffd}\u{fffd}b");
        assert_eq!(text.escaped.as_deref(), Some(r"a\udcff\udce2\udc82b"));
        assert_eq!(StreamText::new("é".as_bytes()).escaped, None);
    }
}
