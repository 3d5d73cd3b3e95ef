//! `async_status`: asks about a job that a task started.

use modbox_python_json::{Dict, Value};
use modbox_yaml::Source;

use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;
use crate::paths;
use crate::vars::layer;

/// Where Ansible keeps the results of jobs.
const FOLDER: &str = "~/.ansible_async";

/// Asks about a job.
///
/// # Errors
///
/// An argument is wrong, or the module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_options(&["jid", "mode"], &[])?;
    let Some(job) = context.text("jid") else {
        return Err(ActionError::result("missing required arguments: jid"));
    };
    let mode = context.text("mode").unwrap_or_else(|| "status".to_owned());
    if !matches!(mode.as_str(), "status" | "cleanup") {
        return Err(ActionError::result(format!("value of mode must be one of: status, cleanup, got: {mode}")));
    }
    let configured = context.engine.expression(&Source::literal("ansible_async_dir"), context.scope).ok();
    let folder =
        configured.map_or_else(|| FOLDER.to_owned(), |found| modbox_python_json::str(&layer::to_json(&found.value)));
    let mut args = Dict::new();
    args.insert("jid".to_owned(), Value::from(job.as_str()));
    args.insert("mode".to_owned(), Value::from(mode.as_str()));
    args.insert("_async_dir".to_owned(), Value::from(folder.as_str()));
    let mut result = initial(&job, &mode, &folder);
    result.extend(context.run_module("ansible.legacy.async_status", args)?);
    for key in ["started", "finished"] {
        let truth = result.get(key).is_some_and(Value::is_truthy);
        result.insert(key.to_owned(), Value::Bool(truth));
    }
    Ok(result)
}

/// Returns what is known without asking.
fn initial(job: &str, mode: &str, folder: &str) -> Dict {
    let file = Value::from(paths::join(folder, job));
    let cleans = mode == "cleanup";
    let empty = || Value::List(Vec::new());
    [
        ("started", Value::Bool(!cleans)),
        ("finished", Value::Bool(false)),
        ("stdout", Value::from("")),
        ("stderr", Value::from("")),
        ("stdout_lines", empty()),
        ("stderr_lines", empty()),
        ("ansible_job_id", Value::from(job)),
        (if cleans { "erased" } else { "results_file" }, file),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}
