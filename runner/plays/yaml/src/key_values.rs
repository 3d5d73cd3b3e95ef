//! Arguments as one text: `src=a dest="{{ b }}"`, as Ansible takes them behind an action and in `-e`.

use crate::error::{Problem, YamlError};
use crate::escapes::decode_escapes;
use crate::limits::MAX_NODES;
use crate::source::{Node, Source};
use crate::split_args::{join_args, split_args};

/// The option that holds what is not `key=value`.
const RAW_PARAMS: &str = "_raw_params";

/// The only options that are taken out of the text of a command.
const COMMAND_OPTIONS: [&str; 8] =
    ["creates", "removes", "chdir", "executable", "warn", "stdin", "stdin_add_newline", "strip_empty_ends"];

impl Source {
    /// Splits text such as `src=a dest="{{ b }}"` into a mapping. Parts without `=` become the option `_raw_params`.
    ///
    /// With `free_form`, which commands have, only the options of commands are options, and all else is `_raw_params`.
    /// Each key and value has the position of the whole text, as in Ansible.
    ///
    /// # Errors
    ///
    /// This is not text, has more than [`MAX_NODES`] words, a quote or a block of a template does not end, or an escape
    /// sequence has no character.
    pub fn key_values(&self, free_form: bool) -> Result<Self, YamlError> {
        let error = |problem| YamlError::new(self.position(), problem);
        let (Node::Text(text) | Node::Unsafe(text)) = self.node() else {
            return Err(error(Problem::Unexpected { expected: "text with arguments", found: self.kind() }));
        };
        if text.bytes().filter(|byte| matches!(byte, b' ' | b'\n')).count() >= MAX_NODES {
            return Err(error(Problem::TooManyNodes));
        }
        let options = key_values(text, free_form).map_err(error)?;
        let options =
            options.into_iter().map(|(key, value)| (self.with_text(key.into()), self.with_text(value.into())));
        Self::map_of(options, self.position().clone())
    }
}

/// Splits text as [`Source::key_values`] does. What it returns is data: terms of lookups are split by it, too.
///
/// # Errors
///
/// A quote or a block of a template does not end, or an escape sequence has no character.
pub fn key_values(text: &str, free_form: bool) -> Result<Vec<(String, String)>, Problem> {
    let parts = split_args(text).ok_or_else(|| Problem::Unbalanced(text.chars().take(60).collect()))?;
    let (mut options, mut raw) = (Vec::new(), Vec::new());
    for part in parts {
        let decoded = decode_escapes(&part).map_err(Problem::InvalidEscape)?;
        match split_option(&decoded) {
            Part::KeyValue(key, value) if !free_form || COMMAND_OPTIONS.contains(&key) => {
                options.push((stripped(key).to_owned(), unquoted(stripped(value)).to_owned()));
            }
            Part::Escaped => raw.push(decoded.replace("\\=", "=")),
            _ => raw.push(part),
        }
    }
    if !raw.is_empty() {
        options.push((RAW_PARAMS.to_owned(), join_args(&raw)));
    }
    Ok(options)
}

/// What a part of the text is.
enum Part<'a> {
    KeyValue(&'a str, &'a str),
    /// There is an `=`, but only at the start or behind a backslash.
    Escaped,
    Free,
}

/// Splits at the first `=` that is neither at the start nor behind a backslash.
fn split_option(part: &str) -> Part<'_> {
    let mut equals = part.match_indices('=').map(|(at, _)| at).peekable();
    if equals.peek().is_none() {
        return Part::Free;
    }
    match equals.find(|at| *at > 0 && !part[..*at].ends_with('\\')) {
        Some(at) => Part::KeyValue(&part[..at], &part[at + 1..]),
        None => Part::Escaped,
    }
}

/// Removes what Python's `strip` takes for white space.
fn stripped(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}'))
}

/// Removes one pair of quotes around a text, unless a backslash is before the last one (ansible-core 2.19,
/// `ansible.parsing.quoting`).
#[must_use]
pub fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote))
            && !inside.ends_with('\\')
        {
            return inside;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use crate::load::template_file;

    #[track_caller]
    fn check(text: &str, free_form: bool, wanted: &str) {
        let options = template_file(text, "x").key_values(free_form).unwrap();
        assert_eq!(encode(&options.to_data().unwrap()), wanted);
    }

    #[test]
    fn arguments_are_taken_apart() {
        check("src=a dest=\"{{ b }}\"", false, r#"{"src": "a", "dest": "{{ b }}"}"#);
        check("echo a=b chdir=/x", true, r#"{"chdir": "/x", "_raw_params": "echo a=b"}"#);
        check("a=1 a=2 b", false, r#"{"a": "2", "_raw_params": "b"}"#);
        check(r"a\=b =c", false, r#"{"_raw_params": "a=b =c"}"#);
        check("a='x y' b=\"it's\"", false, r#"{"a": "x y", "b": "it's"}"#);
        check(r"a=b\nc", false, r#"{"a": "b\nc"}"#);
        check("", false, "{}");
    }

    #[test]
    fn arguments_that_cannot_be_taken_apart_are_errors() {
        for text in ["a='b", "a={{ b", r"a=\N{DASH}"] {
            assert!(template_file(text, "x").key_values(false).is_err(), "{text}");
        }
    }
}
