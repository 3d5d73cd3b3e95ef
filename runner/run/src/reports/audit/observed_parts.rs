//! What an audit line has of an observed module beside its denials: its commands, and the names that files got.

use modbox_argument_spec::Secrets;
use modbox_python_json::{Dict, Value};

use crate::reports::audit::arguments::shortened;

/// Returns the parts of a line, without secrets. `is_hidden`: `no_log` hides names; the report has no words then.
pub(super) fn of(report: &Dict, secrets: &Secrets, is_hidden: bool) -> Dict {
    let mut parts = Dict::new();
    if let Some(commands) = report.get("commands").and_then(Value::as_list) {
        let commands = commands.iter().map(|command| short(secrets.mask(command.clone())));
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

/// Shortens the words of a command.
fn short(command: Value) -> Value {
    match command {
        Value::Str(text) => shortened(&text).into(),
        Value::List(words) => words.into_iter().map(short).collect::<Vec<_>>().into(),
        Value::Dict(entries) => Value::Dict(entries.into_iter().map(|(key, value)| (key, short(value))).collect()),
        other => other,
    }
}
