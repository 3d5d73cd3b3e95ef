//! Removes secrets from everything that a module prints.
//!
//! The rules are Ansible's. A text that is a secret becomes a placeholder, a secret inside a text becomes asterisks,
//! and a number whose digits contain a secret becomes the placeholder. Keys, bools and null stay.

use modbox_python_json::{Dict, Value, str};

use crate::validated::Validated;

/// The text that replaces a value that is a secret.
pub(crate) const PLACEHOLDER: &str = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER";
const ASTERISKS: &str = "********";

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

    /// Returns a text without the secrets.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        if self.texts.iter().any(|secret| secret == text) {
            return PLACEHOLDER.to_owned();
        }
        self.texts.iter().fold(text.to_owned(), |text, secret| text.replace(secret, ASTERISKS))
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

    #[test]
    fn debug_does_not_tell() {
        let mut secrets = Secrets::default();
        secrets.add("hunter2");
        assert_eq!(format!("{secrets:?}"), "Secrets(1)");
    }
}
