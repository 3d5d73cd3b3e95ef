//! Rules for the fields of a result that all releases share.

use modbox_python_json::{Dict, Value, str as python_str};

use crate::lines::split_lines;
use crate::results::typed::{self, NO_TRACEBACK, Refusal};
use crate::results::warnings::Warnings;
use crate::secrets::ShownStreams;

/// Renames `results` unless it is a list, because Ansible keeps the items of a loop there.
pub(crate) fn rename_results(dict: &mut Dict, warnings: &mut Warnings) {
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

/// Removes the facts about a host that only Ansible may set.
pub(crate) fn remove_discovered(facts: &mut Dict) {
    let discovered = ["discovered_interpreter_", "ansible_discovered_interpreter_"];
    facts.retain(|key, _| !discovered.iter().any(|prefix| key.starts_with(prefix)));
}

/// Removes these facts from a result.
pub(crate) fn clean_facts(dict: &mut Dict) -> Result<(), Refusal> {
    match dict.get_mut("ansible_facts") {
        None => {}
        Some(Value::Dict(facts)) => remove_discovered(facts),
        Some(other) => return Err(no_attribute(other, "keys")),
    }
    Ok(())
}

fn no_attribute(value: &Value, attribute: &str) -> Refusal {
    Refusal::Task(format!("'{}' object has no attribute '{attribute}'", value.type_name()))
}

/// Adds `stdout_lines` for the key `stdout` of a result. That key is not the process's standard output.
pub(crate) fn add_lines(dict: &mut Dict, key: &str) -> Result<(), Refusal> {
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
pub(crate) fn complete_status(dict: &mut Dict) {
    if !dict.contains_key("failed") {
        let failed = dict.get("rc").is_some_and(|rc| !is_zero(rc));
        dict.insert("failed".to_owned(), failed.into());
    }
    if !dict.contains_key("changed") {
        dict.insert("changed".to_owned(), false.into());
    }
}

/// Returns Python's `rc in [0, "0"]`, where `False` and `0.0` equal `0`.
fn is_zero(rc: &Value) -> bool {
    match rc {
        Value::Str(text) => text == "0",
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => !rc.is_truthy(),
        _ => false,
    }
}

/// Makes `exception` a typed object, or removes it. Returns whether the result has one afterwards.
pub(crate) fn normalize_exception(dict: &mut Dict) -> bool {
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

/// Adds the keys that every failed result has: `failed: true`, an exception, a message.
pub(crate) fn complete_failure(dict: &mut Dict, sent_exception: bool) {
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

/// Returns whether a message was made for a failed module that gave none.
#[must_use]
pub fn is_made_message(text: &str) -> bool {
    text.starts_with("Task failed: ")
}

/// Makes the failed result for a module that returned no valid one.
pub(crate) fn failure(msg: &str, rc: i64, streams: &ShownStreams) -> Dict {
    let fields: [(&str, Value); 7] = [
        ("failed", true.into()),
        ("msg", msg.into()),
        ("module_stdout", streams.stdout.as_str().into()),
        ("module_stderr", streams.stderr.as_str().into()),
        ("rc", rc.into()),
        ("changed", false.into()),
        ("exception", NO_TRACEBACK.into()),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
