//! What Ansible makes of a module's result before a task uses it.

use modbox_contract::split_lines;
use modbox_python_json::{Dict, Value};

use crate::report::message::Message;

/// A module's result, and what was found in it.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// The result.
    pub data: Dict,
    /// Warnings on the result itself.
    pub warnings: Vec<Message>,
}

/// Cleans the result of a module: removes what only actions may return, and adds lines of output.
#[must_use]
pub fn clean(mut data: Dict) -> Cleaned {
    let mut warnings = Vec::new();
    data.shift_remove("_ansible_suppress_tmpdir_delete");
    rename_results(&mut data, &mut warnings);
    remove_internal(&mut data, &mut warnings);
    for key in ["warnings", "deprecations"] {
        if data.get(key).is_some_and(|value| !value.is_truthy()) {
            data.shift_remove(key);
        }
    }
    // As a result of ansible-core 2.21, which keeps its message apart.
    if data.get("msg") == Some(&Value::Null) {
        data.shift_remove("msg");
    }
    if let Some(Value::Dict(facts)) = data.get_mut("ansible_facts") {
        facts.retain(|name, _| {
            !name.starts_with("discovered_interpreter_") && !name.starts_with("ansible_discovered_interpreter_")
        });
    }
    add_lines(&mut data);
    Cleaned { data, warnings }
}

/// Renames `results` that is neither a list nor a dict, since loops have results of their own. The contract of ansible-core 2.21 has
/// copied it instead.
fn rename_results(data: &mut Dict, warnings: &mut Vec<Message>) {
    let is_odd = data.get("results").is_some_and(|results| !matches!(results, Value::List(_) | Value::Dict(_)));
    if !is_odd || data.get("ansible_module_results") == data.get("results") {
        return;
    }
    if let Some(results) = data.shift_remove("results") {
        data.insert("ansible_module_results".to_owned(), results);
        warnings
            .push(Message::new("Found internal 'results' key in module return, renamed to 'ansible_module_results'."));
    }
}

/// Removes the keys that only Ansible may send, with warnings that do not show the values, as ansible-core since 2.21.
fn remove_internal(data: &mut Dict, warnings: &mut Vec<Message>) {
    data.retain(|key, _| {
        let internal = key.starts_with("_ansible_") && key != "_ansible_parsed";
        if internal || matches!(key.as_str(), "add_host" | "add_group") {
            warnings.push(Message::new(format!("Removed unexpected internal key in module return: {key}")));
            return false;
        }
        true
    });
}

/// Adds `stdout_lines` and `stderr_lines`.
pub fn add_lines(data: &mut Dict) {
    for key in ["stdout", "stderr"] {
        let lines = format!("{key}_lines");
        if data.contains_key(&lines) {
            continue;
        }
        if let Some(output) = data.get(key) {
            let text = if *output == Value::Null { String::new() } else { modbox_python_json::str(output) };
            data.insert(lines, Value::List(split_lines(&text).into_iter().map(Value::from).collect()));
        }
    }
}

/// Sets `failed` and `changed` where the result does not have them.
pub fn set_defaults(data: &mut Dict) {
    if !data.contains_key("failed") {
        let ok = |rc: &Value| matches!(rc, Value::Int(0) | Value::Bool(false)) || *rc == Value::from("0");
        let failed = data.get("rc").is_some_and(|rc| !ok(rc) && *rc != Value::Float(0.0));
        data.insert("failed".to_owned(), Value::Bool(failed));
    }
    data.entry("changed".to_owned()).or_insert(Value::Bool(false));
}

/// Takes the warnings of a result. Warnings that are not a list are a warning themselves.
pub fn take_warnings(data: &mut Dict) -> Vec<Message> {
    match data.shift_remove("warnings") {
        None => Vec::new(),
        Some(Value::List(items)) => items.iter().map(message).collect(),
        Some(other) if !other.is_truthy() => Vec::new(),
        Some(other) => {
            let found = other.type_name();
            vec![Message::new(format!("Task result `warnings` was <class '{found}'> instead of <class 'list'>."))]
        }
    }
}

/// Takes the deprecations of a result.
pub fn take_deprecations(data: &mut Dict) -> Vec<Message> {
    match data.shift_remove("deprecations") {
        Some(Value::List(items)) => items.iter().map(deprecation).collect(),
        _ => Vec::new(),
    }
}

/// Returns the message of a warning: a text, or an object of Ansible's own with an event.
#[must_use]
pub fn message(value: &Value) -> Message {
    let Some(event) = value.as_dict().and_then(|dict| dict.get("event")).and_then(Value::as_dict) else {
        return Message::new(modbox_python_json::str(value));
    };
    let text = |key: &str| event.get(key).filter(|value| value.is_truthy()).map(modbox_python_json::str);
    let mut message = Message::new(text("msg").unwrap_or_default());
    message.help = text("help_text");
    let chain = event.get("chain").and_then(Value::as_dict);
    if let Some(cause) = chain.and_then(|chain| chain.get("event")) {
        let wrapped = Value::from([("event", cause.clone())]);
        message.cause = Some(Box::new(self::message(&wrapped)));
    }
    message
}

fn deprecation(value: &Value) -> Message {
    let Some(dict) = value.as_dict() else { return Message::new(modbox_python_json::str(value)) };
    let text = match dict.get("msg") {
        Some(text) => modbox_python_json::str(text),
        None => message(value).brief(),
    };
    let of = |key: &str| dict.get(key).filter(|value| value.is_truthy()).map(modbox_python_json::str);
    let from = match of("collection_name").as_deref() {
        None | Some("None") => String::new(),
        Some("ansible.builtin") => " from ansible-core".to_owned(),
        Some(name) => format!(" from collection '{name}'"),
    };
    let when = match (of("date"), of("version")) {
        (Some(date), _) => format!("in a release after {date}"),
        (None, Some(version)) => format!("version {version}"),
        (None, None) => "in a future release".to_owned(),
    };
    let (from, when) = if from.is_empty() { (String::new(), "in the future".to_owned()) } else { (from, when) };
    Message::new(format!("{} This feature will be removed{from} {when}.", sentence(&text)))
}

/// Ends a text with a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', ';', ':']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dict(json: &str) -> Dict {
        let Ok(Value::Dict(data)) = modbox_python_json::decode(json) else { panic!("{json}") };
        data
    }

    #[test]
    fn results_are_cleaned_as_ansible_does() {
        let check = |json: &str, expect: &str, warnings: usize| {
            let cleaned = clean(dict(json));
            assert_eq!(modbox_python_json::encode_dict(&cleaned.data), expect, "{json}");
            assert_eq!(cleaned.warnings.len(), warnings, "{json}");
        };
        check(r#"{"_ansible_x": 1, "add_host": {}, "a": 1}"#, r#"{"a": 1}"#, 2);
        check(r#"{"results": "x"}"#, r#"{"ansible_module_results": "x"}"#, 1);
        check(r#"{"results": [1], "warnings": []}"#, r#"{"results": [1]}"#, 0);
        let copied = r#"{"results": "x", "ansible_module_results": "x"}"#;
        check(copied, copied, 0);
        check(r#"{"stdout": "a\nb\n"}"#, r#"{"stdout": "a\nb\n", "stdout_lines": ["a", "b"]}"#, 0);
        check(r#"{"stdout": null}"#, r#"{"stdout": null, "stdout_lines": []}"#, 0);
        let facts = r#"{"ansible_facts": {"discovered_interpreter_python": 1, "x": 2}}"#;
        check(facts, r#"{"ansible_facts": {"x": 2}}"#, 0);
    }

    #[test]
    fn a_return_code_decides_when_nothing_else_does() {
        let check = |json: &str, expect: bool| {
            let mut data = dict(json);
            set_defaults(&mut data);
            assert_eq!(data["failed"], Value::Bool(expect), "{json}");
        };
        check("{}", false);
        check(r#"{"rc": 1}"#, true);
        check(r#"{"rc": 0}"#, false);
        check(r#"{"rc": "0"}"#, false);
        check(r#"{"rc": "1"}"#, true);
        check(r#"{"rc": 1, "failed": false}"#, false);
    }
}
