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

use modbox_python_json::{Dict, Value, decode, encode_dict, str as python_str};

use serde::Serialize;

use super::Release;
use super::missing::missing_interpreter;
use super::older;
use super::reserved::{is_treated, remove_internal_keys, strip_internal_keys};
use super::stdout::{StreamText, json_lines, object_lines, split_lines};
use super::typed::{self, NO_TRACEBACK, Refusal};
use super::warnings::Warnings;

/// What a module is alleged to have said: bytes that a sandbox bounded, and nothing more.
///
/// Having one says nothing about what is in it. [`ModuleResult::parse`] is the only way on.
#[derive(Debug, Clone, Copy)]
pub struct RawOutput<'a> {
    /// Standard output.
    pub stdout: &'a [u8],
    /// Standard error.
    pub stderr: &'a [u8],
    /// The exit status.
    pub rc: i64,
    /// The interpreter line it was started with, without `#!`, for the message that says it does not exist.
    /// `None` when the kernel started the module.
    pub shebang: Option<&'a str>,
}

/// Which part of standard output is the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultLines {
    /// Ansible's rule: everything from the first line that starts with `{` to the last that ends with `}`.
    #[default]
    Ansible,
    /// The last line that is a JSON object. Not Ansible's rule.
    LastJsonLine,
}

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
        if release < Release::V2_19 {
            let (dict, parsed) = older::parse(raw, lines, release);
            return Self { dict, parsed };
        }
        let mut warnings = Warnings::default();
        let outcome = read(raw.stdout, lines, &mut warnings).and_then(|dict| accept(dict, &mut warnings));
        let (dict, parsed) = match outcome {
            Ok(dict) => (dict, true),
            Err(refusal) => (failure(&message(&refusal, raw), raw), false),
        };
        Self { dict: warnings.add_to(dict), parsed }
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
    pub(crate) fn pending() -> Self {
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

/// Finds the object in the output and checks every value in it.
fn read(stdout: &[u8], lines: ResultLines, warnings: &mut Warnings) -> Result<Dict, Refusal> {
    let text = StreamText::new(stdout);
    let found = match lines {
        ResultLines::Ansible => read_lines(&text, warnings)?,
        ResultLines::LastJsonLine => last_object(&text)?,
    };
    match typed::resolve(found)? {
        Value::Dict(dict) if typed::class_of_dict(&dict).is_none() => Ok(dict),
        other => Err(Refusal::Task(format!(
            "Malformed result. Received {} instead of <class 'dict'>.",
            typed::type_repr(&other)
        ))),
    }
}

fn read_lines(text: &StreamText<'_>, warnings: &mut Warnings) -> Result<Value, Refusal> {
    let not_json = |message: &str| Refusal::Deserialization(message.to_owned());
    let escaped = text.escaped.as_deref().map(json_lines).transpose().map_err(not_json)?;
    let lossy = json_lines(&text.lossy).map_err(not_json)?;
    if let Some(junk) = &lossy.junk_after {
        warnings.add_text(format!("Module invocation had junk after the JSON data: {junk}"));
    }
    let value = decode_json(&lossy.json)?;
    match escaped {
        Some(lines) => decode_json(&lines.json),
        None => Ok(value),
    }
}

pub(super) fn last_object(text: &StreamText<'_>) -> Result<Value, Refusal> {
    let readable = text.escaped.as_deref().unwrap_or(&text.lossy);
    let found = object_lines(readable).find_map(|line| decode_json(line).ok());
    found.ok_or_else(|| Refusal::Deserialization("No line is a JSON object".to_owned()))
}

fn decode_json(text: &str) -> Result<Value, Refusal> {
    decode(text).map_err(|error| match error.surrogate_key() {
        Some(key) => typed::not_utf8(key.units()),
        // Python's RecursionError, which unlike the others is no ValueError.
        None if error.message().starts_with("maximum recursion depth") => Refusal::Task(error.to_string()),
        None => Refusal::Deserialization(error.to_string()),
    })
}

/// Applies the rules for a result's keys, in Ansible's order.
fn accept(mut dict: Dict, warnings: &mut Warnings) -> Result<Dict, Refusal> {
    let sent_exception = normalize_exception(&mut dict);
    // Each of the steps asks for a key; most results have none of them.
    let treated = dict.keys().any(|key| is_treated(key));
    if treated {
        dict.shift_remove("_ansible_suppress_tmpdir_delete");
        rename_results(&mut dict, warnings);
        remove_internal_keys(&mut dict, warnings);
        clean_facts(&mut dict)?;
        add_lines(&mut dict, "stdout")?;
        add_lines(&mut dict, "stderr")?;
    }
    complete_status(&mut dict);
    if treated {
        warnings.take_from(&mut dict)?;
    }
    if dict["failed"].is_truthy() {
        complete_failure(&mut dict, sent_exception);
    }
    strip_internal_keys(&mut dict);
    dict.values_mut().for_each(|value| *value = typed::present(std::mem::take(value)));
    Ok(dict)
}

/// Makes a typed object of `exception`, or removes it. Returns whether there is one now.
fn normalize_exception(dict: &mut Dict) -> bool {
    let exception = dict.shift_remove("exception").filter(Value::is_truthy);
    let failed = dict.get("failed").is_some_and(Value::is_truthy);
    let summary = match exception {
        None if !failed => return false,
        Some(summary) if typed::class_of(&summary) == Some("ErrorSummary") => summary,
        exception => {
            let msg = dict.get("msg").map_or_else(|| "Unknown error.".to_owned(), python_str);
            let traceback = exception.as_ref().map(python_str);
            let event = typed::object("Event", [("msg", msg.into()), ("formatted_traceback", traceback.into())]);
            typed::object("ErrorSummary", [("event", event)])
        }
    };
    dict.insert("exception".to_owned(), summary);
    true
}

/// `results` is where Ansible keeps the items of a loop.
pub(super) fn rename_results(dict: &mut Dict, warnings: &mut Warnings) {
    if let Some(results) = dict.shift_remove("results") {
        if results.as_list().is_some() {
            dict.insert("results".to_owned(), results);
        } else {
            dict.insert("ansible_module_results".to_owned(), results);
            warnings.add_text(
                "Found internal 'results' key in module return, renamed to 'ansible_module_results'.".to_owned(),
            );
        }
    }
}

/// Removes what only Ansible itself may say about a host.
pub(super) fn clean_facts(dict: &mut Dict) -> Result<(), Refusal> {
    let discovered = ["discovered_interpreter_", "ansible_discovered_interpreter_"];
    match dict.get_mut("ansible_facts") {
        None => {}
        Some(Value::Dict(facts)) => facts.retain(|key, _| !discovered.iter().any(|prefix| key.starts_with(prefix))),
        Some(other) => return Err(no_attribute(other, "keys")),
    }
    Ok(())
}

fn no_attribute(value: &Value, attribute: &str) -> Refusal {
    Refusal::Task(format!("'{}' object has no attribute '{attribute}'", value.type_name()))
}

/// Adds `stdout_lines` for a key `stdout` of the result, which has nothing to do with the process's stream.
pub(super) fn add_lines(dict: &mut Dict, key: &str) -> Result<(), Refusal> {
    let Some(value) = dict.get(key) else { return Ok(()) };
    let lines_key = format!("{key}_lines");
    if dict.contains_key(&lines_key) {
        return Ok(());
    }
    let lines = match value {
        Value::Str(text) => split_lines(text).into_iter().map(Value::from).collect(),
        nothing if !nothing.is_truthy() => Vec::new(),
        other => return Err(no_attribute(other, "splitlines")),
    };
    dict.insert(lines_key, Value::List(lines));
    Ok(())
}

/// Adds `failed` and `changed` to a result that leaves them out.
pub(super) fn complete_status(dict: &mut Dict) {
    if !dict.contains_key("failed") {
        let failed = dict.get("rc").is_some_and(|rc| !is_zero(rc));
        dict.insert("failed".to_owned(), failed.into());
    }
    if !dict.contains_key("changed") {
        dict.insert("changed".to_owned(), false.into());
    }
}

/// Python's `rc in [0, "0"]`, where `False` and `0.0` equal `0`.
fn is_zero(rc: &Value) -> bool {
    match rc {
        Value::Str(text) => text == "0",
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => !rc.is_truthy(),
        _ => false,
    }
}

/// Gives a failed result what every failed result has: `failed` that is true, an exception, a message.
fn complete_failure(dict: &mut Dict, sent_exception: bool) {
    dict.insert("failed".to_owned(), true.into());
    let brief = match dict.get("exception") {
        Some(summary) => typed::brief_message(summary),
        None => "Unknown error.".to_owned(),
    };
    dict.entry("exception".to_owned()).or_insert(NO_TRACEBACK.into());
    let origin = if sent_exception { "Module failed." } else { "Action failed." };
    let msg = typed::join_messages(&["Task failed.", origin, &brief]);
    dict.entry("msg".to_owned()).or_insert(msg.into());
}

/// What Ansible says about output that it refuses.
fn message(refusal: &Refusal, raw: &RawOutput<'_>) -> String {
    match refusal {
        Refusal::Task(reason) => typed::join_messages(&["Task failed.", reason]),
        Refusal::Deserialization(reason) => match missing_interpreter(raw) {
            Some(interpreter) => {
                format!("The module interpreter {} was not found.", modbox_python_json::str_repr(interpreter))
            }
            None => typed::join_messages(&["Module result deserialization failed.", reason]),
        },
    }
}

/// The result in place of one that the module did not give.
pub(super) fn failure(msg: &str, raw: &RawOutput<'_>) -> Dict {
    let fields: [(&str, Value); 7] = [
        ("failed", true.into()),
        ("msg", msg.into()),
        ("module_stdout", String::from_utf8_lossy(raw.stdout).into()),
        ("module_stderr", String::from_utf8_lossy(raw.stderr).into()),
        ("rc", raw.rc.into()),
        ("changed", false.into()),
        ("exception", NO_TRACEBACK.into()),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
