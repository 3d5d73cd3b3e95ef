//! Running a task: once, or for each item of its loop.

use modbox_python_json::{Dict, Value};

use crate::keywords::Keyword;
use crate::model::task::Task;
use crate::report::events::TaskInfo;
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::attempt::{self, AttemptEnd};
use crate::run::errors;
use crate::run::fields::Fields;
use crate::run::looping::{self, LoopError};
use crate::run::names;
use crate::run::session::Session;
use crate::run::task_run::TaskRun;

/// How a task ended.
#[derive(Debug)]
pub struct TaskEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// Whether a failure does not stop the play.
    pub ignore_errors: bool,
    /// Whether a failure stops the play for all hosts.
    pub any_errors_fatal: bool,
    /// How its items ended; one for a task without a loop.
    pub parts: Vec<AttemptEnd>,
}

/// Returns what events say about a task.
#[must_use]
pub fn info(session: &mut Session<'_>, task: &Task) -> TaskInfo {
    let id = session.new_id();
    let scope = session.scope(Some(task));
    let fields = Fields { engine: session.engine, scope: &scope };
    let flag = |keyword, default| fields.flag(task, keyword, default).unwrap_or(default);
    let short = names::short(session.engine, &scope, task);
    let host = session.host_name.clone();
    let delegate = fields.text(task, Keyword::DelegateTo).ok().flatten();
    let host_label = match delegate.filter(|name| *name != host) {
        Some(name) => format!("{host} -> {name}"),
        None => host.clone(),
    };
    let name = names::full(task, &short);
    TaskInfo {
        id,
        short_name: if short.is_empty() { name.clone() } else { short },
        name,
        action: task.action_text().to_owned(),
        host_label,
        host,
        is_handler: task.is_handler(),
        is_include: task.is_include(),
        is_loop: task.has_loop(),
        check_mode: flag(Keyword::CheckMode, session.options.check),
        diff: flag(Keyword::Diff, session.options.diff),
        position: task.position.clone(),
    }
}

/// Runs a task.
pub fn run(session: &mut Session<'_>, task: &Task, info: &TaskInfo) -> TaskEnd {
    let scope = session.scope(Some(task));
    let run = TaskRun { task, info, scope };
    match looping::items(&run, session) {
        Ok(None) => single(attempt::run(&run, session, None)),
        Ok(Some(items)) if items.is_empty() => {
            let mut outcome = Outcome::of(no_items());
            outcome.is_loop = true;
            TaskEnd { outcome, ignore_errors: false, any_errors_fatal: false, parts: Vec::new() }
        }
        Ok(Some(items)) => match looping::run(&run, session, &items) {
            Ok((parts, outcome)) => all(parts, outcome),
            Err(message) => failed(&run, session, message),
        },
        Err(LoopError::Undefined(message)) => single(attempt::run(&run, session, Some(message))),
        Err(LoopError::Wrong(message)) => failed(&run, session, message),
    }
}

fn single(mut end: AttemptEnd) -> TaskEnd {
    end.outcome.data.entry("changed".to_owned()).or_insert(Value::Bool(false));
    TaskEnd {
        outcome: end.outcome.clone(),
        ignore_errors: end.ignore_errors,
        any_errors_fatal: end.any_errors_fatal,
        parts: vec![end],
    }
}

/// Returns the end of a loop. A failure is ignored if the task says so for all items that failed.
fn all(parts: Vec<AttemptEnd>, outcome: Outcome) -> TaskEnd {
    let failed = || parts.iter().filter(|part| part.outcome.is_failed());
    let ignore_errors = failed().next().is_some() && failed().all(|part| part.ignore_errors);
    let any_errors_fatal = parts.iter().any(|part| part.any_errors_fatal);
    TaskEnd { outcome, ignore_errors, any_errors_fatal, parts }
}

/// Returns the end of a task whose loop is wrong.
fn failed(run: &TaskRun<'_>, session: &Session<'_>, message: Message) -> TaskEnd {
    let mut outcome = errors::outcome(session, run.task, message.clone());
    outcome.data.shift_remove("changed");
    outcome.data.insert("msg".to_owned(), Value::from(message.brief()));
    outcome.error = Some(message);
    let flag = |keyword| run.field(session, |fields, task| fields.flag(task, keyword, false)).unwrap_or(false);
    TaskEnd {
        outcome,
        ignore_errors: flag(Keyword::IgnoreErrors),
        any_errors_fatal: flag(Keyword::AnyErrorsFatal),
        parts: Vec::new(),
    }
}

/// Returns the result of a loop without items.
fn no_items() -> Dict {
    let entries = [
        ("changed", Value::Bool(false)),
        ("skipped", Value::Bool(true)),
        ("skipped_reason", Value::from("No items in the list")),
    ];
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
