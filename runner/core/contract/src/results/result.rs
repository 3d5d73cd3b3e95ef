//! Converts a module's output to its result: one validated JSON object for any output.
//!
//! The rules, their order and the messages are those of ansible-core 2.19, from the end of the process to the value
//! that `register` stores. Differences:
//!
//! - `exception` holds the traceback that the module sent; Ansible hides it unless it is configured to show it.
//! - `invocation` stays; Ansible drops it when it registers the result.
//! - `module_stdout`, `module_stderr` and `rc` are there whenever the output was refused; Ansible keeps them only when
//!   the output was not JSON.
//! - Facts are not stored here, so there is no warning about facts that must not be stored.
//! - Ansible checks each object as soon as it is decoded. We decode the whole document first. If an output has two
//!   errors, an error in its JSON is reported first.
//! - Bytes that are not UTF-8 become U+FFFD in `module_stdout`, `module_stderr` and the warning about junk, not lone
//!   surrogates: an Ansible that reads our result would refuse it for surrogates.

use modbox_python_json::{Dict, Value, encode_dict, str as python_str};
use serde::Serialize;

use crate::release::Release;
use crate::results::fields::failure;
use crate::results::parsed_output::ParsedOutput;
use crate::results::raw_output::{RawOutput, ResultLines};
use crate::results::{current, older};
use crate::secrets::{NewSecrets, ShownStreams};

/// Key of `invocation` with what the runner tells of a run.
const TOLD: &str = "modbox";

/// Key of the warnings, which modbox adds to.
const WARNINGS: &str = "warnings";

/// A module's result: one JSON object with `failed` and `changed`, without reserved keys.
///
/// The object is well-formed. Whether it is true is up to the module.
///
/// Beside the object that is shown, the result of a module that told its secrets has the object with the secrets in it, for
/// a controller or a play that masks by itself. Neither `Debug` nor `Serialize` show that one.
#[derive(Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ModuleResult {
    dict: Dict,
    #[serde(skip)]
    parsed: bool,
    /// Secrets that the module told with it.
    #[serde(skip)]
    secrets: Option<NewSecrets>,
    /// The object with its secrets.
    #[serde(skip)]
    clear: Option<Dict>,
}

impl std::fmt::Debug for ModuleResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModuleResult").field("dict", &self.dict).field("parsed", &self.parsed).finish_non_exhaustive()
    }
}

impl ModuleResult {
    /// Makes a result of a module's output; Ansible's rule selects the lines.
    #[must_use]
    pub fn parse(raw: &RawOutput<'_>) -> Self {
        Self::parse_as(raw, ResultLines::Ansible, Release::default())
    }

    /// Makes a result of a module's output by the rules of a release. Invalid output makes a failed result.
    #[must_use]
    pub fn parse_as(raw: &RawOutput<'_>, lines: ResultLines, release: Release) -> Self {
        let ParsedOutput { dict, parsed, secrets } = match release {
            Release::V2_9 | Release::V2_14 => older::parse(raw, lines, release),
            Release::V2_19 | Release::V2_21 | Release::V2_22 => current::parse(raw, lines, release),
        };
        let clear = (parsed && (secrets.is_some() || release >= Release::V2_22)).then(|| dict.clone());
        Self { dict, parsed, secrets, clear }
    }

    /// Makes the result of a run that the runner itself ended or could not start.
    #[must_use]
    pub fn runner_failure(msg: &str, raw: Option<&RawOutput<'_>>) -> Self {
        let none = RawOutput { stdout: b"", stderr: b"", rc: 0, shebang: None };
        let RawOutput { stdout, stderr, rc, .. } = raw.unwrap_or(&none);
        let streams = ShownStreams::of(stdout, stderr);
        let mut dict = failure(msg, *rc, &streams);
        if raw.is_none() {
            dict.retain(|key, _| !["module_stdout", "module_stderr", "rc"].contains(&key.as_str()));
        }
        dict.shift_remove("exception");
        Self { dict, parsed: false, secrets: streams.secrets, clear: None }
    }

    /// Makes the result of output that follows another convention, whose rules have accepted it.
    #[must_use]
    pub fn accepted(dict: Dict) -> Self {
        Self { dict, parsed: true, secrets: None, clear: None }
    }

    /// Returns an empty placeholder for a result that will follow.
    #[must_use]
    pub fn pending() -> Self {
        Self { dict: Dict::new(), parsed: false, secrets: None, clear: None }
    }

    /// Returns whether the result is the module's output, and not a failure made instead.
    #[must_use]
    pub fn parsed(&self) -> bool {
        self.parsed
    }

    /// Returns the secrets that the module told in its result, as modules of ansible-core 2.22 do, which do not mask their
    /// results; `None` if it does not tell any.
    #[must_use]
    pub fn secrets(&self) -> Option<&NewSecrets> {
        self.secrets.as_ref()
    }

    /// Returns the object with its secrets, for what masks by itself: a controller of ansible-core 2.22, or a variable of a
    /// play. Warnings are as they are shown, since those of modbox have words for a shell. `None` if the module did not tell
    /// its secrets and is not of ansible-core 2.22, or returned no result.
    #[must_use]
    pub fn to_clear(&self) -> Option<Dict> {
        let mut clear = self.clear.clone()?;
        if let Some(warnings) = self.dict.get(WARNINGS) {
            clear.insert(WARNINGS.to_owned(), warnings.clone());
        }
        Some(clear)
    }

    /// Returns whether the module failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.is_truthy("failed")
    }

    /// Returns whether the module reports a change.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.is_truthy("changed")
    }

    /// Returns whether the module reports that it had nothing to do.
    #[must_use]
    pub fn skipped(&self) -> bool {
        self.is_truthy("skipped")
    }

    /// Returns the module's message as text, if there is one.
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

    /// Sets where a module crashed, in Ansible's key for tracebacks.
    pub fn set_exception(&mut self, traceback: &str) {
        self.each(|dict| drop(dict.insert("exception".to_owned(), traceback.into())));
    }

    /// Replaces what the module says of its changes by what was observed: whether there are any, and the differences in the
    /// form of Ansible's `diff`.
    pub fn set_observed(&mut self, changed: bool, diff: &[Value]) {
        self.each(|dict| {
            dict.insert("changed".to_owned(), changed.into());
            dict.shift_remove("diff");
            if !diff.is_empty() {
                dict.insert("diff".to_owned(), Value::List(diff.to_vec()));
            }
        });
    }

    /// Sets what the runner tells of the run: the key `modbox` of `invocation`, which Ansible neither registers nor prints
    /// without `-vvv`. `None` removes what the module put there.
    pub fn set_told(&mut self, told: Option<&Value>) {
        self.each(|dict| match (dict.get_mut("invocation"), told.cloned()) {
            (Some(Value::Dict(invocation)), Some(told)) => drop(invocation.insert(TOLD.to_owned(), told)),
            (Some(Value::Dict(invocation)), None) => drop(invocation.shift_remove(TOLD)),
            (_, Some(told)) => drop(dict.insert("invocation".to_owned(), [(TOLD, told)].into())),
            (_, None) => {}
        });
    }

    /// Drops the arguments that the result repeats, as ansible-core 2.21 leaves them out of results.
    pub fn drop_invocation(&mut self) {
        self.each(|dict| drop(dict.shift_remove("invocation")));
    }

    /// Makes the result a failed one, for a reason of the runner. The module's own message stays beside it.
    pub fn fail(&mut self, msg: &str) {
        self.each(|dict| {
            if let Some(said) = dict.insert("msg".to_owned(), msg.into()) {
                dict.insert("module_msg".to_owned(), said);
            }
            dict.insert("failed".to_owned(), true.into());
            dict.insert("changed".to_owned(), false.into());
        });
    }

    /// Returns the part of a secret result that may be shown: `changed`, `failed`, `skipped`, and the reason for the
    /// censoring.
    #[must_use]
    pub fn censored(&self, why: &str) -> Self {
        let mut dict = Dict::from_iter([("censored".to_owned(), why.into())]);
        for key in ["changed", "failed", "skipped"] {
            dict.extend(self.dict.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        Self { dict, parsed: self.parsed, secrets: None, clear: None }
    }

    /// Changes the object, and the one with its secrets.
    fn each(&mut self, change: impl Fn(&mut Dict)) {
        change(&mut self.dict);
        self.clear.iter_mut().for_each(change);
    }

    /// Replaces what is shown by what a function makes of it.
    pub fn show(&mut self, change: impl FnOnce(Dict) -> Dict) {
        self.dict = change(std::mem::take(&mut self.dict));
    }

    /// Replaces each value that is shown by what a function makes of it and its key.
    pub fn map(&mut self, change: impl Fn(&str, Value) -> Value) {
        for (key, value) in &mut self.dict {
            *value = change(key, std::mem::take(value));
        }
    }

    /// Adds a warning of the runner.
    pub fn warn(&mut self, warning: &str) {
        if let Some(warnings) = self.warnings() {
            warnings.push(warning.into());
        }
    }

    /// Adds a warning of the runner before those that are there, since it says what to do first.
    pub fn warn_first(&mut self, warning: &str) {
        if let Some(warnings) = self.warnings() {
            warnings.insert(0, warning.into());
        }
    }

    fn warnings(&mut self) -> Option<&mut Vec<Value>> {
        let warnings = self.dict.entry(WARNINGS.to_owned()).or_insert_with(|| Value::List(Vec::new()));
        // `warnings` is a list: other types were converted when the result was accepted.
        match warnings {
            Value::List(warnings) => Some(warnings),
            _ => None,
        }
    }

    /// Returns the object as JSON: one line, ASCII only, so that no reader splits it.
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
