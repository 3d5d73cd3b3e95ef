//! Results that stand for those of modules that did not run, so that actions go on to their next step.

use modbox_python_json::{Dict, Value};

use crate::model::task::short_name;

/// Returns a result of a module as an action expects it where nothing is there yet.
#[must_use]
pub fn result(module: &str) -> Dict {
    let entries = |entries: &[(&str, Value)]| -> Dict {
        entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    match short_name(module) {
        "stat" => {
            let stat = entries(&[("exists", Value::Bool(false))]);
            entries(&[("changed", Value::Bool(false)), ("stat", Value::Dict(stat))])
        }
        "slurp" => entries(&[("content", Value::from("")), ("encoding", Value::from("base64"))]),
        "setup" => entries(&[("ansible_facts", Value::Dict(Dict::new()))]),
        "command" => entries(&[("rc", Value::Int(0)), ("stdout", Value::from("")), ("stderr", Value::from(""))]),
        _ => entries(&[("changed", Value::Bool(true))]),
    }
}
