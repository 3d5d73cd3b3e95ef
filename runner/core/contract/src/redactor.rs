//! Masks secrets as ansible-core 2.22 does in what its callbacks get (`_secrets.SecretMasker`, `_secrets_object._Walker`).
//!
//! Each secret is searched for without the white space around it, in three forms: as it is, and as JSON writes it in ASCII
//! and in UTF-8. All occurrences count, overlapping ones too; those that overlap or touch become one placeholder. Texts,
//! numbers and keys are masked, and lines that were made of a masked text are made again.
//!
//! Intended differences: a placeholder that is in the text already is taken for an occurrence, so that masking again changes
//! nothing. The keys by which Ansible and modbox tell how a module ended keep their names.

use std::borrow::Cow;
use std::collections::HashMap;

use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use modbox_python_json::{Dict, Value, encode, str as python_str};

use crate::lines::split_lines;

/// The text in the place of secrets.
pub const REDACTED: &str = "$REDACTED$";

/// What is not a part of a secret at its ends.
const WHITE_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Keys with a text, and those with the lines of it.
const LINES: [(&str, &str); 2] = [("stdout", "stdout_lines"), ("stderr", "stderr_lines")];

/// Keys of a result that keep their names, since the end of a run is told by them.
const STATUS: [&str; 10] = [
    "failed",
    "changed",
    "skipped",
    "unreachable",
    "failed_when_result",
    "msg",
    "exception",
    "warnings",
    "deprecations",
    "invocation",
];

/// How the keys begin that are Ansible's own.
const INTERNAL: &str = "_ansible_";

/// Bytes of all forms of the secrets that are searched for. With more, everything is masked.
const MAX_BYTES: usize = 8 << 20;

/// A set of secrets to search for.
#[expect(missing_debug_implementations, reason = "secrets are printed nowhere")]
pub struct Redactor(Search);

enum Search {
    Nothing,
    Forms(Box<NFA>),
    /// There are more secrets than can be searched for.
    Everything,
}

impl Redactor {
    /// Makes a set of secrets. Secrets of white space alone are left out.
    #[must_use]
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self::with(secrets, Some(REDACTED))
    }

    /// Makes a set of secrets for [`Redactor::replaced`]: a placeholder that is in a text already is text like other.
    #[must_use]
    pub fn exact<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self::with(secrets, None)
    }

    fn with<'a>(secrets: impl IntoIterator<Item = &'a str>, placeholder: Option<&str>) -> Self {
        let mut forms: Vec<String> = Vec::new();
        let mut bytes = 0;
        for secret in secrets {
            let secret = secret.trim_matches(WHITE_SPACE);
            if secret.is_empty() {
                continue;
            }
            let ascii = encode(&secret.into());
            forms.extend([secret.to_owned(), ascii[1..ascii.len() - 1].to_owned(), json_utf8(secret)]);
            bytes += 2 * secret.len() + ascii.len();
            if bytes > MAX_BYTES {
                return Self(Search::Everything);
            }
        }
        if forms.is_empty() {
            return Self(Search::Nothing);
        }
        forms.extend(placeholder.map(str::to_owned));
        forms.sort_unstable();
        forms.dedup();
        Self(NFA::new(&forms).map_or(Search::Everything, |search| Search::Forms(Box::new(search))))
    }

    /// Returns whether nothing is masked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Search::Nothing)
    }

    /// Returns a text without the secrets.
    #[must_use]
    pub fn mask_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replaced(text, REDACTED).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Returns a text with a placeholder in the place of the secrets; `None` if it has none.
    #[must_use]
    pub fn replaced(&self, text: &str, placeholder: &str) -> Option<String> {
        let search = match &self.0 {
            Search::Nothing => return None,
            Search::Everything if text.is_empty() => return None,
            Search::Everything => return Some(placeholder.to_owned()),
            Search::Forms(search) => search,
        };
        let spans = merged_spans(search, text.as_bytes());
        if spans.is_empty() {
            return None;
        }
        let mut masked = String::with_capacity(text.len());
        let mut from = 0;
        for (start, end) in spans {
            masked.push_str(&text[from..start]);
            masked.push_str(placeholder);
            from = end;
        }
        masked.push_str(&text[from..]);
        Some(masked)
    }

    /// Returns a value without the secrets: texts, numbers, and keys of dicts. Bools and null stay.
    #[must_use]
    pub fn mask(&self, value: Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value,
            Value::Str(text) => match self.mask_text(&text) {
                Cow::Borrowed(masked) if masked.len() == text.len() => Value::Str(text),
                masked => masked.into_owned().into(),
            },
            Value::Surrogates(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                let text = python_str(&value);
                let masked = self.mask_text(&text);
                if masked == text { value } else { masked.into_owned().into() }
            }
            Value::List(items) => Value::List(items.into_iter().map(|item| self.mask(item)).collect()),
            Value::Dict(entries) => Value::Dict(self.mask_entries(entries, |_| false)),
        }
    }

    /// Returns a result without the secrets.
    #[must_use]
    pub fn mask_result(&self, result: Dict) -> Dict {
        match self.is_empty() {
            true => result,
            false => self.mask_entries(result, |key| STATUS.contains(&key) || key.starts_with(INTERNAL)),
        }
    }

    /// Masks the entries of a dict, except for the names of some keys.
    fn mask_entries(&self, entries: Dict, is_kept: impl Fn(&str) -> bool) -> Dict {
        let derived: Vec<_> = LINES.into_iter().filter(|(text, lines)| has_lines(&entries, text, lines)).collect();
        let texts: Vec<Option<Value>> = derived.iter().map(|(text, _)| entries.get(*text).cloned()).collect();
        let mut masked = Dict::with_capacity(entries.len());
        let mut names: HashMap<String, String> = HashMap::new();
        for (key, value) in entries {
            let is_lines = derived.iter().any(|(_, lines)| *lines == key);
            let value = if is_lines { value } else { self.mask(value) };
            let name = match is_kept(&key) {
                true => key.clone(),
                false => self.mask_text(&key).into_owned(),
            };
            let name = unused(name, &masked);
            masked.insert(name.clone(), value);
            if LINES.iter().any(|(text, lines)| *text == key || *lines == key) {
                names.insert(key, name);
            }
        }
        for ((text, lines), before) in derived.into_iter().zip(texts) {
            let after = masked.get(&names[text]);
            if after != before.as_ref()
                && let Some(Value::Str(after)) = after
            {
                let after = Value::List(split_lines(after).into_iter().map(Value::from).collect());
                masked.insert(names[lines].clone(), after);
            }
        }
        masked
    }
}

/// Returns whether a key of a dict has the lines of the text of another one.
fn has_lines(entries: &Dict, text: &str, lines: &str) -> bool {
    let (Some(Value::Str(text)), Some(Value::List(lines))) = (entries.get(text), entries.get(lines)) else {
        return false;
    };
    let expected = split_lines(text);
    lines.len() == expected.len() && lines.iter().zip(expected).all(|(line, expected)| line.as_str() == Some(expected))
}

/// Returns a key that a dict does not have: the key itself, or with ` (2)`, ` (3)` … after it.
fn unused(key: String, dict: &Dict) -> String {
    if !dict.contains_key(&key) {
        return key;
    }
    let numbered = (2_u64..).map(|number| format!("{key} ({number})"));
    numbered.into_iter().find(|key| !dict.contains_key(key)).unwrap_or(key)
}

/// Returns a text as Python's JSON writes it in quotes with `ensure_ascii=False`.
fn json_utf8(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '\u{c}' => written.push_str("\\f"),
            '\u{8}' => written.push_str("\\b"),
            c if c < ' ' => written.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => written.push(c),
        }
    }
    written
}

/// Returns the spans that occurrences cover, in order; those that overlap or touch are one. Only the longest form that ends
/// at a place matters, so the time does not depend on how many occurrences there are.
fn merged_spans(search: &NFA, text: &[u8]) -> Vec<(usize, usize)> {
    let mut longest: HashMap<StateID, usize> = HashMap::new();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    let Ok(mut state) = search.start_state(Anchored::No) else {
        // Cannot happen: an automaton of `NFA::new` has unanchored searches.
        return vec![(0, text.len())];
    };
    for (at, byte) in text.iter().enumerate() {
        state = search.next_state(Anchored::No, state, *byte);
        if !search.is_match(state) {
            continue;
        }
        let length = *longest.entry(state).or_insert_with(|| {
            let lengths =
                (0..search.match_len(state)).map(|index| search.pattern_len(search.match_pattern(state, index)));
            lengths.max().unwrap_or_default()
        });
        let (mut start, end) = (at + 1 - length, at + 1);
        while let Some((before, _)) = spans.pop_if(|(_, before)| *before >= start) {
            start = start.min(before);
        }
        spans.push((start, end));
    }
    spans
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[track_caller]
    fn check(secrets: &[&str], json: &str, expect: &str) {
        let redactor = Redactor::new(secrets.iter().copied());
        let masked = redactor.mask(decode(json).unwrap());
        assert_eq!(encode(&masked), expect, "{json}");
        assert_eq!(encode(&redactor.mask(masked)), expect, "{json} again");
    }

    #[test]
    fn occurrences_that_overlap_or_touch_are_one() {
        check(&["abc", "cde", "x"], r#""abcde-xx-abx""#, r#""$REDACTED$-$REDACTED$-ab$REDACTED$""#);
        check(&["aba"], r#""ababa""#, r#""$REDACTED$""#);
        check(&["b", "abcd"], r#""abce b""#, r#""a$REDACTED$ce $REDACTED$""#);
        check(&[" \t"], r#""a \t b""#, r#""a \t b""#);
    }

    #[test]
    fn forms_are_those_of_json_and_without_white_space_around() {
        check(&["  pä\"ss\n "], r#"["pä\"ss", "{\"k\": \"p\\u00e4\\\"ss\"}", "p\u00e4\\\"ss "]"#, {
            r#"["$REDACTED$", "{\"k\": \"$REDACTED$\"}", "$REDACTED$ "]"#
        });
        check(&["\u{1}\u{7f}"], r#""x\\u0001\\u007f y\\u0001\u007f""#, r#""x$REDACTED$ y$REDACTED$""#);
    }

    #[test]
    fn keys_and_numbers_are_masked_and_bools_are_not() {
        check(
            &["k1", "k2", "45", "True"],
            r#"{"k1": 1, "k2": 2, "k1k2": {"a": [12345, 4.5, true, null]}, "$REDACTED$ (2)": 0}"#,
            r#"{"$REDACTED$": 1, "$REDACTED$ (2)": 2, "$REDACTED$ (3)": {"a": ["123$REDACTED$", 4.5, true, null]}, "$REDACTED$ (2) (2)": 0}"#,
        );
    }

    #[test]
    fn lines_of_a_masked_text_are_made_again() {
        check(
            &["b\nc"],
            r#"{"stdout": "a\nb\nc\nd", "stdout_lines": ["a", "b", "c", "d"], "stderr": "b\nc", "stderr_lines": ["b"]}"#,
            r#"{"stdout": "a\n$REDACTED$\nd", "stdout_lines": ["a", "$REDACTED$", "d"], "stderr": "$REDACTED$", "stderr_lines": ["b"]}"#,
        );
        check(
            &["b\nc"],
            r#"{"x": {"stdout": "b\nc", "stdout_lines": ["b", "c"]}}"#,
            r#"{"x": {"stdout": "$REDACTED$", "stdout_lines": ["$REDACTED$"]}}"#,
        );
    }

    #[test]
    fn a_result_tells_how_it_ended_whatever_the_secrets_are() {
        let redactor = Redactor::new(["failed", "msg", "warn"]);
        let dict =
            decode(r#"{"failed": true, "msg": "it failed", "warnings": ["warn"], "warn": {"failed": 1}}"#).unwrap();
        let masked = redactor.mask_result(dict.as_dict().unwrap().clone());
        assert_eq!(
            encode(&masked.into()),
            r#"{"failed": true, "msg": "it $REDACTED$", "warnings": ["$REDACTED$"], "$REDACTED$": {"$REDACTED$": 1}}"#
        );
    }

    #[test]
    fn a_placeholder_may_be_any_text() {
        let (redactor, exact) = (Redactor::new(["abc"]), Redactor::exact(["abc"]));
        for (text, expect, exactly) in [
            ("xabcx", Some("x-x"), Some("x-x")),
            ("x", None, None),
            ("$REDACTED$", Some("-"), None),
            ("$REDACTED$abc", Some("-"), Some("$REDACTED$-")),
        ] {
            assert_eq!(redactor.replaced(text, "-").as_deref(), expect, "{text}");
            assert_eq!(exact.replaced(text, "-").as_deref(), exactly, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_searched_for_masks_everything() {
        let long = "x".repeat(MAX_BYTES);
        let redactor = Redactor::new([long.as_str()]);
        assert_eq!((&*redactor.mask_text("a"), &*redactor.mask_text("")), (REDACTED, ""));
    }
}
