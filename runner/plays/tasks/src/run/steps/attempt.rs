//! Running a task once, or an item of its loop: its condition, its action, and the completion of its outcome.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_yaml::Source;

use crate::fields::conditions;
use crate::keywords::Keyword;
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::errors;
use crate::run::session::Session;
use crate::run::steps::act;
use crate::run::steps::connection_free;
use crate::run::steps::prepare;
use crate::run::steps::task_fields;
use crate::run::steps::task_run::TaskRun;
use crate::run::variables::refresh;

/// How a task or an item ended.
#[derive(Debug, Default)]
pub struct AttemptEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// Whether a failure does not stop the play.
    pub ignore_errors: bool,
    /// Whether a failure stops the play for all hosts.
    pub any_errors_fatal: bool,
    /// What is notified if something changed.
    pub notify: Vec<String>,
    /// Variables of files of the play, for the rest of the play.
    pub included: Vec<(Arc<str>, Source)>,
}

/// Runs a task once, or an item of its loop. `loop_error` says why the items of the loop are not known; it counts unless
/// the task is skipped.
pub fn run(run: &TaskRun<'_>, session: &mut Session<'_>, loop_error: Option<Message>) -> AttemptEnd {
    // A failure before the keywords are evaluated is ignored, too. A template that fails counts as true, as in Ansible.
    let ignore_errors = run.field(session, |fields, task| fields.flag(task, Keyword::IgnoreErrors, false));
    let mut end = AttemptEnd { ignore_errors: ignore_errors.unwrap_or(true), ..AttemptEnd::default() };
    end.outcome = run_inner(run, session, loop_error, &mut end)
        .unwrap_or_else(|message| errors::outcome(session, run.task, message));
    finish(run, session, &mut end);
    end
}

fn run_inner(
    run: &TaskRun<'_>,
    session: &mut Session<'_>,
    loop_error: Option<Message>,
    end: &mut AttemptEnd,
) -> Result<Outcome, Message> {
    let delegate = delegate(run, session)?;
    let delegated;
    let run = match delegate.as_deref().filter(|name| session.is_here(name)) {
        Some(name) => {
            let scope = run.scope.with(Arc::new(refresh::delegated(session, name)));
            delegated = TaskRun { task: run.task, info: run.info, scope, earlier: run.earlier.clone() };
            &delegated
        }
        None => run,
    };
    if let Some(skipped) = condition(run, session)? {
        return Ok(skipped);
    }
    if let Some(error) = loop_error {
        return Err(error);
    }
    if let Some(name) = delegate.as_deref().filter(|name| !session.is_here(name)) {
        return Err(Message::new(format!(
            "failed to delegate the task to `{name}`: modbox runs tasks on this host only; run Ansible itself for other \
             hosts"
        )));
    }
    if delegate.is_none() && session.is_for_elsewhere() && !connection_free::is_action(run.task.action_text()) {
        return Err(Message::new(format!(
            "failed to run the task for `{}`: modbox runs tasks on this host only; run Ansible itself for other hosts",
            session.host_name
        )));
    }
    let fields = task_fields::evaluate(run, session)?;
    end.ignore_errors = fields.ignore_errors;
    end.any_errors_fatal = fields.any_errors_fatal;
    end.notify.clone_from(&fields.notify);
    if run.task.is_include() {
        return prepare::include(run, session);
    }
    let prepared = prepare::prepare(run, session, &fields)?;
    let (mut outcome, included) = act::run(run, session, &fields, &prepared)?;
    end.included = included;
    if let Some(host) = &delegate {
        let vars = Value::from([("ansible_delegated_host", host.as_str()), ("ansible_connection", "local")]);
        outcome.data.insert("_ansible_delegated_vars".to_owned(), vars);
    }
    Ok(outcome)
}

/// Returns the host that a task is delegated to.
fn delegate(run: &TaskRun<'_>, session: &Session<'_>) -> Result<Option<String>, Message> {
    run.field(session, |fields, task| fields.text(task, Keyword::DelegateTo))
}

/// Returns the outcome of a task whose condition is false.
fn condition(run: &TaskRun<'_>, session: &Session<'_>) -> Result<Option<Outcome>, Message> {
    let conditions = conditions::when(run.task);
    match conditions::first_false(session.engine, &run.scope, &conditions) {
        Ok(None) => Ok(None),
        Ok(Some(condition)) => {
            let mut data = Dict::new();
            data.insert("changed".to_owned(), Value::Bool(false));
            data.insert("failed".to_owned(), Value::Bool(false));
            data.insert("skipped".to_owned(), Value::Bool(true));
            data.insert("skip_reason".to_owned(), Value::from("Conditional result was False"));
            data.insert("false_condition".to_owned(), conditions::shown(condition));
            Ok(Some(Outcome::of(data)))
        }
        Err(error) => {
            let message = errors::of_template(session, &error);
            let place = message.excerpt.clone();
            Err(message.causing("A 'when' expression failed.", place))
        }
    }
}

/// Completes the outcome: with the reason of a failure, and with whether it may be shown.
fn finish(run: &TaskRun<'_>, session: &Session<'_>, end: &mut AttemptEnd) {
    let outcome = &mut end.outcome;
    let place = |session: &Session<'_>| session.excerpt(&run.task.position);
    if outcome.is_out_of_attempts {
        outcome.error = None;
    } else if outcome.data.get("failed").is_some_and(Value::is_truthy) {
        let error = outcome.error.take().unwrap_or_else(|| {
            let text = outcome.data.get("msg").filter(|text| text.is_truthy());
            let text = text.map_or_else(|| "Unknown error.".to_owned(), modbox_python_json::str);
            Message::new(text).causing("Action failed.", None)
        });
        outcome.error = Some(error.failing_task(place(session)));
        if !outcome.data.get("msg").is_some_and(Value::is_truthy) {
            let text = outcome.error.as_ref().map(Message::brief).unwrap_or_default();
            outcome.data.insert("msg".to_owned(), Value::from(text));
        }
        outcome.data.entry("changed".to_owned()).or_insert(Value::Bool(false));
    } else {
        outcome.error = None;
    }
    task_fields::mark_no_log(run, session, outcome);
}
