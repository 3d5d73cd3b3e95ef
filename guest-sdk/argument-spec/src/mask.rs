//! Removes secrets from everything that a module prints.
//!
//! The rules are Ansible's. A text that is a secret becomes a placeholder, a secret inside a text becomes asterisks,
//! and a number whose digits contain a secret becomes the placeholder. Keys, bools and null stay.

use indexmap::IndexSet;
use modbox_python_json::{Dict, Value, str};

use crate::escapes;
use crate::no_log;
use crate::validated::Validated;

/// The text that replaces a value that is a secret.
pub const PLACEHOLDER: &str = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER";
const ASTERISKS: &str = "********";

/// Maximum number of secrets that are also looked for in quotes within quotes.
const MAX_REPEATED: usize = 64;

/// The values that a module's output must not contain.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest secret is first: it is replaced before a shorter one that is part of it.
    texts: Vec<String>,
}

impl Secrets {
    /// Adds a secret. Empty text is ignored.
    pub fn add(&mut self, secret: impl Into<String>) {
        let secret = secret.into();
        if secret.is_empty() || self.texts.contains(&secret) {
            return;
        }
        let at = self.texts.partition_point(|text| text.len() >= secret.len());
        self.texts.insert(at, secret);
    }

    /// Adds every text and number in a value, as Ansible takes them for secrets. Bools, null and empty text are ignored.
    pub fn add_value(&mut self, value: &Value) {
        let mut texts = IndexSet::new();
        no_log::add(value, &mut texts);
        texts.into_iter().for_each(|text| self.add(text));
    }

    /// Adds all secrets of another set.
    pub fn extend(&mut self, other: &Self) {
        other.texts.iter().for_each(|text| self.add(text.as_str()));
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the number of secrets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns the secrets, the longest first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Returns the secrets that are in some bytes.
    pub fn found_in(&self, bytes: &[u8]) -> impl Iterator<Item = &str> {
        let is_in = |secret: &&str| bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        self.iter().filter(is_in)
    }

    /// Returns the secrets also in other notations, for text that no parser has read: see [`Self::escapes`].
    #[must_use]
    pub fn with_escapes(&self) -> Self {
        let mut all = self.escapes();
        all.extend(self);
        all
    }

    /// Returns the notations of the secrets that differ from them: as JSON, Python, Rust and shells write them in quotes, and as
    /// URLs do. Text in quotes is often in quotes again, such as a message of Python in a result that is shown as text. Of
    /// more than 64 secrets, such repeated notations are left out.
    #[must_use]
    pub fn escapes(&self) -> Self {
        let mut found = IndexSet::new();
        for text in &self.texts {
            let once = escapes::of(text);
            if self.texts.len() <= MAX_REPEATED {
                found.extend(once.iter().flat_map(|form| escapes::again(form)));
            }
            found.extend(once);
        }
        let mut texts: Vec<String> = found.into_iter().filter(|form| !form.is_empty()).collect();
        texts.retain(|form| !self.texts.contains(form));
        texts.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self { texts }
    }

    /// Returns a text without the secrets. Masking the result again changes nothing.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        if text == PLACEHOLDER || self.texts.iter().any(|secret| secret == text) {
            return PLACEHOLDER.to_owned();
        }
        let (asterisks, texts): (Vec<&String>, Vec<&String>) =
            self.texts.iter().partition(|secret| ASTERISKS.contains(secret.as_str()));
        let masked = texts.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret, ASTERISKS));
        asterisks.into_iter().fold(masked, |text, secret| mask_asterisks(&text, secret.len()))
    }

    /// Returns bytes without the secrets, such as the name of a file.
    #[must_use]
    pub fn mask_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.mask_text(text).into_bytes();
        }
        self.texts.iter().fold(bytes.to_owned(), |bytes, secret| replaced(&bytes, secret.as_bytes()))
    }

    /// Returns a value without the secrets.
    #[must_use]
    pub fn mask(&self, value: Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value,
            Value::Str(text) => self.mask_text(&text).into(),
            Value::Surrogates(_) if self.is_in(&value) => self.mask_text(&str(&value)).into(),
            Value::Surrogates(_) => value,
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) if self.is_in(&value) => PLACEHOLDER.into(),
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) => value,
            Value::List(items) => Value::List(items.into_iter().map(|item| self.mask(item)).collect()),
            Value::Dict(entries) => Value::Dict(self.mask_dict(entries)),
        }
    }

    /// Returns a dict without the secrets; its keys stay.
    #[must_use]
    pub fn mask_dict(&self, entries: Dict) -> Dict {
        entries.into_iter().map(|(key, value)| (key, self.mask(value))).collect()
    }

    fn is_in(&self, value: &Value) -> bool {
        let text = str(value);
        self.texts.iter().any(|secret| text.contains(secret.as_str()))
    }
}

impl From<&Validated> for Secrets {
    fn from(validated: &Validated) -> Self {
        let mut secrets = Self::default();
        validated.no_log_values.iter().for_each(|secret| secrets.add(secret.as_str()));
        secrets
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.texts.len())
    }
}

/// Replaces runs of at least `least` asterisks, which are or hold a secret of asterisks, by those of every secret.
fn mask_asterisks(text: &str, least: usize) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('*') {
        let run = rest[at..].bytes().take_while(|byte| *byte == b'*').count();
        masked.push_str(&rest[..at]);
        masked.push_str(if run < least { &rest[at..at + run] } else { ASTERISKS });
        rest = &rest[at + run..];
    }
    masked + rest
}

/// Replaces a secret in bytes by asterisks.
fn replaced(bytes: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut masked = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(secret.len()).position(|window| window == secret) {
        masked.extend_from_slice(&rest[..at]);
        masked.extend_from_slice(ASTERISKS.as_bytes());
        rest = &rest[at + secret.len()..];
    }
    masked.extend_from_slice(rest);
    masked
}

#[cfg(test)]
mod tests {
    use modbox_python_json::{decode, encode};

    use super::*;

    #[track_caller]
    fn check(secrets: &[&str], json: &str, expect: &str) {
        let mut masked = Secrets::default();
        secrets.iter().for_each(|secret| masked.add(*secret));
        assert_eq!(encode(&masked.mask(decode(json).unwrap())), expect);
    }

    #[test]
    fn hides_secrets_wherever_they_are() {
        check(&["45"], r#"[12345, 45, 1.5, "45", "x45y", true]"#, &{
            let placeholder = format!("\"{PLACEHOLDER}\"");
            format!("[{placeholder}, {placeholder}, 1.5, {placeholder}, \"x********y\", true]")
        });
        check(&["se", "secret"], r#"{"se": ["a secret", null]}"#, r#"{"se": ["a ********", null]}"#);
        check(&[""], r#""x""#, r#""x""#);
    }

    fn secrets(texts: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        texts.iter().for_each(|text| secrets.add(*text));
        secrets
    }

    #[test]
    fn masking_again_changes_nothing() {
        for (texts, text, expect) in [
            (&["NO_LOG"][..], "NO_LOG", PLACEHOLDER),
            (&["LOG", "x"], "a x LOG", "a ******** ********"),
            (&["***", "x"], "a***x**b", "a********b"),
            (&["*"], "**", "********"),
            (&["***"], "a**b", "a**b"),
        ] {
            let secrets = secrets(texts);
            let masked = secrets.mask_text(text);
            assert_eq!(masked, expect);
            assert_eq!(secrets.mask_text(&masked), expect);
        }
    }

    #[test]
    fn invalid_text_is_masked_too() {
        let secrets = secrets(&["s\u{e9}cret"]);
        assert_eq!(secrets.mask_bytes(b"a\xff-s\xc3\xa9cret-\xfe"), b"a\xff-********-\xfe");
        assert_eq!(secrets.mask_bytes("s\u{e9}cret".as_bytes()), PLACEHOLDER.as_bytes());
    }

    #[test]
    fn escapes_are_those_of_texts_in_quotes() {
        let secrets = secrets(&["a\"\u{e9}"]).with_escapes();
        assert_eq!(
            secrets.mask_text("{\"k\": \"a\\\"\\u00e9\"} 'a\\\"\u{e9}' a\"\u{e9}!"),
            "{\"k\": \"********\"} '********' ********!"
        );
    }

    #[test]
    fn escapes_are_found_in_quotes_within_quotes_and_in_urls() {
        let secret = "a'b\\c\u{1b}d\u{7f}\u{2028} \u{1f600}@/";
        let masked = secrets(&[secret]).with_escapes();
        let python = modbox_python_json::str_repr(secret);
        let json = encode(&secret.into());
        for text in [
            format!("[{python}]"),
            encode(&format!("[{python}]").into()),
            encode(&json.as_str().into()),
            format!("{:?}", format!("x {python}")),
            "x=a%27b%5Cc%1Bd%7F%E2%80%A8%20%F0%9F%98%80%40%2F".to_owned(),
            "x=a%27b%5cc%1bd%7f%e2%80%a8+%f0%9f%98%80%40%2f".to_owned(),
            "x=a%27b%5Cc%1Bd%7F%E2%80%A8%20%F0%9F%98%80%40/".to_owned(),
        ] {
            let shown = masked.mask_text(&text);
            assert!(shown.contains(ASTERISKS) && !shown.contains(['a', 'b', 'd']), "{text}: {shown}");
        }
        assert!(secrets(&["plain1"]).escapes().is_empty());
    }

    #[test]
    fn debug_does_not_tell() {
        let mut secrets = Secrets::default();
        secrets.add("hunter2");
        assert_eq!(format!("{secrets:?}"), "Secrets(1)");
    }
}
