//! `async_status`: asks about a job that a task started, or removes its file.

use modbox_python_json::{Dict, Value};

use crate::action_host::{JobQuestion, JobState, JobWish};
use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;
use crate::vars::job_folder;

/// The key of a result that is not shown.
const SECRET: &str = "_ansible_no_log";

/// Asks about a job.
///
/// # Errors
///
/// An argument is wrong, or the job's file cannot be read or removed.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_options(&["jid", "mode"], &[])?;
    let Some(id) = context.text("jid") else {
        return Err(ActionError::failed("missing required arguments: jid"));
    };
    let mode = context.text("mode").unwrap_or_else(|| "status".to_owned());
    let wish = match mode.as_str() {
        "status" => JobWish::Status,
        "cleanup" => JobWish::Remove,
        _ => {
            return Err(ActionError::failed(format!("value of mode must be one of: status, cleanup, got: {mode}")));
        }
    };
    let folder = job_folder::named(context.engine, context.scope);
    let state = context.host.job(&JobQuestion { id: &id, folder: folder.as_deref(), wish })?;
    if wish == JobWish::Remove && state.is_known {
        return Ok(erased(&id, &state.file));
    }
    Ok(status(context, &id, state))
}

/// Returns the result for a job: that of its module if it ended, and what is known of the job.
pub fn status(context: &mut ActionContext<'_>, id: &str, state: JobState) -> Dict {
    let is_finished = state.is_finished || !state.is_known;
    let mut found = if state.is_known { state.result } else { unknown() };
    // The mark is modbox's own, in the file of a job whose task has `no_log`.
    let is_secret = found.shift_remove(SECRET).is_some_and(|mark| mark.is_truthy());
    let mut result = common(id, true);
    result.insert("results_file".to_owned(), state.file.into());
    result.extend(context.received(found));
    result.insert("started".to_owned(), true.into());
    result.insert("finished".to_owned(), is_finished.into());
    if is_secret {
        result.insert(SECRET.to_owned(), true.into());
    }
    result
}

/// Returns what a module would return about a job that does not exist.
fn unknown() -> Dict {
    [("failed", Value::from(true)), ("msg", "could not find job".into())]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// Returns the result for a job whose file was removed.
fn erased(id: &str, file: &str) -> Dict {
    let mut result = common(id, false);
    result.insert("erased".to_owned(), file.into());
    result
}

/// Returns what every result about a job has.
fn common(id: &str, started: bool) -> Dict {
    let empty = || Value::List(Vec::new());
    [
        ("started", Value::from(started)),
        ("finished", false.into()),
        ("stdout", "".into()),
        ("stderr", "".into()),
        ("stdout_lines", empty()),
        ("stderr_lines", empty()),
        ("ansible_job_id", id.into()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}
