//! Following a job: a task with `async` and a `poll` above 0 waits for the job that its action started.

use std::time::Duration;

use modbox_python_json::{Dict, Value};

use crate::action_host::{JobQuestion, JobState, JobWish};
use crate::actions::commands::async_status;
use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;
use crate::report::events::Event;

/// How long a job may take, after its limit, to say that the limit ended it.
const GRACE: Duration = Duration::from_secs(5);

/// The times of a task that waits for its job, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The limit of the job.
    pub limit: i64,
    /// The time between two events that it still runs.
    pub poll: i64,
}

/// Waits for the job that an action started, and returns the result of the job's module. A result that is not that of a
/// started job stays as it is.
///
/// # Errors
///
/// The job cannot be asked about.
pub fn follow(context: &mut ActionContext<'_>, started: Dict, pace: Pace) -> Result<Dict, ActionError> {
    let holds = |key: &str| started.get(key).is_some_and(Value::is_truthy);
    if holds("skipped") || holds("failed") {
        return Ok(started);
    }
    let Some(id) = started.get("ansible_job_id").map(modbox_python_json::str) else {
        return Err(ActionError::failed("No job id was returned by the async task"));
    };
    let folder = context.options.job.as_ref().and_then(|job| job.folder.clone());
    let state = wait(context, &id, folder.as_deref(), pace)?;
    let result = ended(context, &id, folder.as_deref(), state, pace)?;
    let failed = result.get("failed").is_some_and(Value::is_truthy) || context.findings.module_error.is_some();
    context.events.event(Event::AsyncEnd { id, failed });
    Ok(result)
}

/// Waits until the job ends, or until its limit is over. Sends an event each time that it still runs.
fn wait(context: &mut ActionContext<'_>, id: &str, folder: Option<&str>, pace: Pace) -> Result<JobState, ActionError> {
    let (mut left, mut state) = (pace.limit, JobState::default());
    while left > 0 {
        let time = Duration::from_secs(pace.poll.min(left).unsigned_abs());
        left = left.saturating_sub(pace.poll);
        // The limit ends the job, and the job's file then says so.
        let time = if left > 0 { time } else { time + GRACE };
        state = context.host.job(&JobQuestion { id, folder, wish: JobWish::Wait(time) })?;
        if state.is_finished || !state.is_known || context.host.is_interrupted() {
            break;
        }
        if left > 0 {
            let text = |truth: bool| if truth { "True" } else { "False" }.to_owned();
            context.events.event(Event::AsyncPoll { id: id.to_owned(), started: text(true), finished: text(false) });
        }
    }
    Ok(state)
}

/// Returns the result of a task whose job ended, and removes the job's file.
fn ended(
    context: &mut ActionContext<'_>,
    id: &str,
    folder: Option<&str>,
    mut state: JobState,
    pace: Pace,
) -> Result<Dict, ActionError> {
    let (is_known, is_finished) = (state.is_known, state.is_finished);
    context.findings.failure = state.failure;
    context.findings.reports.extend(state.report.take());
    let result = async_status::status(context, id, state);
    if is_known && !is_finished {
        let limit = pace.limit;
        let text = format!("async task did not complete within the requested time - {limit}s");
        let fields = [("failed", true.into()), ("msg", text.into()), ("async_result", Value::Dict(result))];
        return Ok(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    }
    if is_known {
        context.host.job(&JobQuestion { id, folder, wish: JobWish::Remove })?;
    }
    Ok(result)
}
