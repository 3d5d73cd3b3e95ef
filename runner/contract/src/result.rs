//! From what a module printed to its result: one validated JSON object, whatever was printed.
//!
//! The rules are those of ansible-core 2.19 between the end of the process and the value that `register`
//! keeps, in its order and with its messages. Where we differ:
//!
//! - `exception` holds the traceback that the module sent; Ansible hides it unless it is configured to show it.
//! - `invocation` stays; Ansible drops it when it registers the result.
//! - Whenever the output was refused, `module_stdout`, `module_stderr` and `rc` say what it was; Ansible keeps
//!   them only when the output was not JSON.
//! - Facts are not stored here, so nothing warns about facts that must not be stored.
//! - Ansible checks each object as soon as it has read it, we check a document that is JSON as a whole: of two
//!   reasons to refuse an output, an error in its JSON is named first.
//! - Bytes that are not UTF-8 are U+FFFD in `module_stdout`, `module_stderr` and the warning about junk, not lone
//!   surrogates: an Ansible that reads our result would refuse it for them.

use modbox_python_json::{Dict, Value, encode_dict, str as python_str};
use serde::Serialize;

use crate::fields::failure;
use crate::raw_output::{RawOutput, ResultLines};
use crate::release::Release;
use crate::{current, older};

/// A module's result: one JSON object with `failed` and `changed`, without reserved keys.
///
/// That the object is well-formed is certain; that it is true is the module's word.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ModuleResult {
    dict: Dict,
    #[serde(skip)]
    parsed: bool,
}

impl ModuleResult {
    /// Makes a result of a module's output, by Ansible's rule for finding it.
    #[must_use]
    pub fn parse(raw: &RawOutput<'_>) -> Self {
        Self::parse_as(raw, ResultLines::Ansible, Release::default())
    }

    /// Makes a result of a module's output, as a release does. Output that is no result makes a failed one.
    #[must_use]
    pub fn parse_as(raw: &RawOutput<'_>, lines: ResultLines, release: Release) -> Self {
        let (dict, parsed) = match release {
            Release::V2_9 | Release::V2_14 => older::parse(raw, lines, release),
            Release::V2_19 => current::parse(raw, lines),
        };
        Self { dict, parsed }
    }

    /// Makes the result of a run that the runner itself ended or could not start.
    #[must_use]
    pub fn runner_failure(msg: &str, raw: Option<&RawOutput<'_>>) -> Self {
        let none = RawOutput { stdout: b"", stderr: b"", rc: 0, shebang: None };
        let mut dict = failure(msg, raw.unwrap_or(&none));
        if raw.is_none() {
            dict.retain(|key, _| !["module_stdout", "module_stderr", "rc"].contains(&key.as_str()));
        }
        dict.shift_remove("exception");
        Self { dict, parsed: false }
    }

    /// Returns the place of a result that is still to come.
    #[must_use]
    pub fn pending() -> Self {
        Self { dict: Dict::new(), parsed: false }
    }

    /// Returns whether the module's own output is the result, not a failure made in its place.
    #[must_use]
    pub fn parsed(&self) -> bool {
        self.parsed
    }

    /// Returns whether the module failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.is_truthy("failed")
    }

    /// Returns whether the module says that it changed something.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.is_truthy("changed")
    }

    /// Returns whether the module says that there was nothing for it to do.
    #[must_use]
    pub fn skipped(&self) -> bool {
        self.is_truthy("skipped")
    }

    /// Returns the module's message as text, if it gave one.
    #[must_use]
    pub fn msg(&self) -> Option<String> {
        self.dict.get("msg").map(python_str)
    }

    /// Returns the object.
    #[must_use]
    pub fn as_dict(&self) -> &Dict {
        &self.dict
    }

    /// Returns the object.
    #[must_use]
    pub fn into_dict(self) -> Dict {
        self.dict
    }

    /// Says where a module crashed, in the key that Ansible uses for tracebacks.
    pub fn set_exception(&mut self, traceback: &str) {
        self.dict.insert("exception".to_owned(), traceback.into());
    }

    /// Returns what may be shown of the result when it is secret: `changed`, `failed` and `skipped`, and why no more.
    #[must_use]
    pub fn censored(&self, why: &str) -> Self {
        let mut dict = Dict::from_iter([("censored".to_owned(), why.into())]);
        for key in ["changed", "failed", "skipped"] {
            dict.extend(self.dict.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        Self { dict, parsed: self.parsed }
    }

    /// Adds a warning of the runner's own.
    pub fn warn(&mut self, warning: &str) {
        let warnings = self.dict.entry("warnings".to_owned()).or_insert_with(|| Value::List(Vec::new()));
        // What is no list was turned into one when the result was accepted.
        if let Value::List(warnings) = warnings {
            warnings.push(warning.into());
        }
    }

    /// Returns the object as JSON: one line, ASCII only, so that any reader gets it whole.
    #[must_use]
    pub fn to_json(&self) -> String {
        encode_dict(&self.dict)
    }

    fn is_truthy(&self, key: &str) -> bool {
        self.dict.get(key).is_some_and(Value::is_truthy)
    }
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
