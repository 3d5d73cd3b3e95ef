//! What an audit line has of an observed module beside its denials: its commands, and the names that files got.

use modbox_argument_spec::Secrets;
use modbox_python_json::{Dict, Value};

use crate::reports::audit::arguments::shortened;

/// Returns the parts of a line, without secrets. `is_hidden`: `no_log` hides words and names, also where the report has them, to learn
/// from.
pub(super) fn of(report: &Dict, secrets: &Secrets, is_hidden: bool) -> Dict {
    let mut parts = Dict::new();
    if let Some(commands) = report.get("commands").and_then(Value::as_list) {
        let shown = |command: &Value| if is_hidden { without_words(command) } else { command.clone() };
        let commands = commands.iter().map(|command| short(secrets.mask(shown(command))));
        parts.insert("commands".to_owned(), commands.collect::<Vec<_>>().into());
    }
    if let Some(renamed) = report.get("renamed").filter(|_| !is_hidden) {
        parts.insert("renamed".to_owned(), secrets.mask(renamed.clone()));
    }
    parts
}

/// Returns the numbers of the commands that made a use; null for what is not a list.
pub(super) fn numbers(value: &Value) -> Value {
    value.as_list().map_or(Value::Null, |_| value.clone())
}

/// Returns a command with the program's name as its only word.
fn without_words(command: &Value) -> Value {
    let shown = |(key, value): (&String, &Value)| {
        let kept = match (key.as_str(), value) {
            ("words", Value::List(words)) => Value::List(words.iter().take(1).cloned().collect()),
            ("names", _) => Value::List(Vec::new()),
            _ => value.clone(),
        };
        (key.clone(), kept)
    };
    command.as_dict().map_or(Value::Null, |command| Value::Dict(command.iter().map(shown).collect()))
}

/// Shortens the words of a command.
fn short(command: Value) -> Value {
    match command {
        Value::Str(text) => shortened(&text).into(),
        Value::List(words) => words.into_iter().map(short).collect::<Vec<_>>().into(),
        Value::Dict(entries) => Value::Dict(entries.into_iter().map(|(key, value)| (key, short(value))).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[test]
    fn no_log_hides_words_and_names() {
        let report = r#"{"commands": [{"number": 1, "program": "/bin/echo", "words": ["echo", "hush"], "names": ["hush"]}],
            "renamed": [["/a/hush", "/b"]]}"#;
        let Value::Dict(report) = decode(report).unwrap() else { panic!("an object") };
        let shown = |is_hidden| modbox_python_json::encode_dict(&of(&report, &Secrets::default(), is_hidden));
        let hidden = shown(true);
        assert!(hidden.contains(r#""words": ["echo"]"#) && !hidden.contains("hush"), "{hidden}");
        assert_eq!(shown(false).matches("hush").count(), 3);
    }
}
