//! The secrets that a module tells with its result, as modules of ansible-core 2.22 do, and those that it gets with its arguments.
//!
//! Such a module leaves its secrets in the result and lists them in `_ansible_new_secrets`. Its controller takes the list
//! before all else (`UnifiedTaskResult._from_result_dict`), and masks what it shows. So does modbox. An output that is no
//! result has the list in its text, which is shown in `module_stdout`; it is masked by the list, or not shown at all.
//! How texts are masked is in `redactor`.

use std::fmt;

use modbox_python_json::{Dict, Value, decode, encode, str as python_str};

use crate::redactor::Redactor;

/// The key of a result with the secrets that a module has found.
pub const NEW_SECRETS: &str = "_ansible_new_secrets";

/// What is shown of an output that lists its secrets in a form that cannot be read.
const WITHHELD: &str = "(not shown: the output lists secrets in a form that modbox cannot read)";

/// The secrets that a module told. The type has neither `Debug` nor `Serialize`, so that no report and no log can have it by
/// accident.
#[derive(Clone, Default, PartialEq, Eq)]
#[expect(missing_debug_implementations, reason = "secrets are printed nowhere")]
pub struct NewSecrets(Vec<String>);

impl NewSecrets {
    /// Takes the secrets out of a result; `None` if it does not tell any. ansible-core asks for a list of texts. Texts and
    /// numbers at every depth of another value are secrets, too: what cannot be understood must not be shown.
    pub fn take(dict: &mut Dict) -> Option<Self> {
        let mut secrets = Self::default();
        secrets.add(dict.shift_remove(NEW_SECRETS)?);
        Some(secrets)
    }

    fn add(&mut self, value: Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::List(items) => items.into_iter().for_each(|item| self.add(item)),
            Value::Dict(entries) => entries.into_iter().for_each(|(key, value)| {
                self.0.push(key);
                self.add(value);
            }),
            Value::Str(text) => self.0.push(text),
            other => self.0.push(python_str(&other)),
        }
    }

    /// Returns the secrets.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the secrets as the value of the key, for a controller that masks by itself.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::List(self.iter().map(Value::from).collect())
    }

    /// Reads the lists of secrets in an output that is not a result. Returns `None` if one of them cannot be read.
    fn in_text(text: &str) -> Option<Self> {
        let mut secrets = Self::default();
        for (at, _) in text.match_indices(NEW_SECRETS) {
            let rest = text[at + NEW_SECRETS.len()..].strip_prefix('"')?.trim_start().strip_prefix(':')?.trim_start();
            secrets.add(decode(list_in(rest)?).ok()?);
        }
        Some(secrets)
    }
}

/// Secrets that came with the arguments of a module, as ansible-core 2.22 sends those that it knows to be in them. They are for
/// the module and for masking, and no part of what is shown or kept. Not `Serialize`; `Debug` tells their number.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct GivenSecrets(Vec<String>);

impl GivenSecrets {
    /// Returns whether the controller gave no secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the secrets.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the secrets as a list in JSON: one line, ASCII only.
    #[must_use]
    pub fn to_json(&self) -> String {
        encode(&Value::List(self.iter().map(Value::from).collect()))
    }
}

impl FromIterator<String> for GivenSecrets {
    fn from_iter<I: IntoIterator<Item = String>>(secrets: I) -> Self {
        Self(secrets.into_iter().collect())
    }
}

impl fmt::Debug for GivenSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GivenSecrets({})", self.0.len())
    }
}

/// Returns the JSON list that a text begins with.
fn list_in(text: &str) -> Option<&str> {
    let (mut depth, mut in_string, mut is_escaped) = (0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' if !in_string => depth += 1,
            b']' if !in_string && depth == 1 => return Some(&text[..=at]),
            b']' if !in_string => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

/// The streams of a module that returned no result, as they may be shown, and the secrets that they told.
pub(crate) struct ShownStreams {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) secrets: Option<NewSecrets>,
}

impl ShownStreams {
    /// Returns the streams. Bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn of(stdout: &[u8], stderr: &[u8]) -> Self {
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if !stdout.contains(NEW_SECRETS) {
            return Self { stdout, stderr, secrets: None };
        }
        match NewSecrets::in_text(&stdout) {
            Some(secrets) => {
                let redactor = Redactor::new(secrets.iter());
                let [stdout, stderr] = [stdout, stderr].map(|text| redactor.mask_text(&text).into_owned());
                Self { stdout, stderr, secrets: Some(secrets) }
            }
            None => {
                let [stdout, stderr] =
                    [stdout, stderr].map(|text| if text.is_empty() { text } else { WITHHELD.into() });
                Self { stdout, stderr, secrets: None }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(json: &str) -> Option<Vec<String>> {
        let mut dict = decode(json).unwrap().as_dict().unwrap().clone();
        let secrets = NewSecrets::take(&mut dict);
        assert!(!dict.contains_key(NEW_SECRETS));
        secrets.map(|secrets| secrets.iter().map(str::to_owned).collect())
    }

    #[test]
    fn texts_and_numbers_of_every_value_are_secrets() {
        assert_eq!(told(r#"{"a": 1}"#), None);
        for (value, expect) in [
            (r#"["a", "b"]"#, &["a", "b"][..]),
            (r#"["a", 12, true, null, ["b"]]"#, &["a", "12", "b"]),
            (r#""text""#, &["text"]),
            (r#"{"k": ["v"]}"#, &["k", "v"]),
            ("[]", &[]),
        ] {
            let told = told(&format!("{{\"{NEW_SECRETS}\": {value}}}")).unwrap();
            assert_eq!(told, expect, "{value}");
        }
    }

    #[test]
    fn given_secrets_are_counted_and_not_shown() {
        let secrets: GivenSecrets = ["Q7x9".to_owned(), "\u{e9}\n".to_owned()].into_iter().collect();
        assert_eq!(format!("{secrets:?}"), "GivenSecrets(2)");
        assert_eq!(secrets.to_json(), r#"["Q7x9", "\u00e9\n"]"#);
    }

    #[test]
    fn an_output_that_is_not_a_result_is_masked_by_its_list() {
        for (stdout, expect) in [
            ("no secrets\n", "no secrets\n"),
            (
                "{\"a\": \"Q7x9\", \"_ansible_new_secrets\": [\"Q7x9\", \"a]\\\"\"]}\n{}",
                "{\"a\": \"$REDACTED$\", \"_ansible_new_secrets\": [\"$REDACTED$\", \"$REDACTED$\"]}\n{}",
            ),
            ("{\"_ansible_new_secrets\": [\"Q7x9\"", WITHHELD),
            ("{\"_ansible_new_secrets\": \"Q7x9\"", WITHHELD),
            ("_ansible_new_secrets Q7x9", WITHHELD),
        ] {
            let shown = ShownStreams::of(stdout.as_bytes(), b"");
            assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), (expect, ""), "{stdout}");
        }
        let shown = ShownStreams::of(b"{\"_ansible_new_secrets\": [\"Q7x9\"]} x", b"E Q7x9");
        assert_eq!(shown.stderr, "E $REDACTED$");
        assert_eq!(ShownStreams::of(b"_ansible_new_secrets", b"E Q7x9").stderr, WITHHELD);
    }
}
