//! Running a task: once, or for each item of its loop.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_template::Scope;

use crate::fields::Fields;
use crate::fields::names;
use crate::keywords::Keyword;
use crate::model::task::Task;
use crate::report::events::TaskInfo;
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::ends::projections::{self, Registered};
use crate::run::errors;
use crate::run::session::Session;
use crate::run::steps::attempt::{self, AttemptEnd};
use crate::run::steps::looping::{self, LoopEnd, LoopError};
use crate::run::steps::task_run::TaskRun;
use crate::run::steps::told_variables;

/// How a task ended.
#[derive(Debug, Default)]
pub struct TaskEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// Whether a failure does not stop the play.
    pub ignore_errors: bool,
    /// Whether a failure stops the play for all hosts.
    pub any_errors_fatal: bool,
    /// How its items ended; one for a task without a loop.
    pub parts: Vec<AttemptEnd>,
    /// The variables of a mapping of `register`.
    pub registered: Vec<(String, Registered)>,
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
    let mut scope = session.scope(Some(task));
    told_variables::tell(session, &scope);
    scope.push(Arc::new(projections::before()));
    let run = TaskRun { task, info, scope, earlier: None };
    let mut last = run.scope.clone();
    let mut end = match looping::items(&run, session) {
        Ok(None) => single(attempt::run(&run, session, None)),
        Ok(Some(items)) if items.is_empty() => {
            let mut outcome = Outcome::of(no_items());
            outcome.is_loop = true;
            TaskEnd { outcome, ..TaskEnd::default() }
        }
        Ok(Some(items)) => match looping::run(&run, session, &items) {
            Ok(LoopEnd { parts, whole, scope }) => {
                last = scope;
                all(parts, whole)
            }
            Err(message) => failed(&run, session, message),
        },
        Err(LoopError::Undefined(message)) => single(attempt::run(&run, session, Some(message))),
        Err(LoopError::Wrong(message)) => failed(&run, session, message),
    };
    register(&run, session, &last, &mut end);
    end
}

/// Evaluates the expressions of `register`. One that fails is a failure of the task.
fn register(run: &TaskRun<'_>, session: &Session<'_>, scope: &Scope, end: &mut TaskEnd) {
    let is_loop = !end.outcome.items.is_empty();
    let last = end.parts.last().filter(|_| is_loop).map_or(&end.outcome, |part| &part.outcome);
    let found = projections::finish(session, run.task, scope, last, Some(&end.outcome).filter(|_| is_loop));
    end.registered = found.variables;
    if let Some(failure) = found.failure {
        let ignored = run.field(session, |fields, task| fields.flag(task, Keyword::IgnoreErrors, false));
        end.ignore_errors = ignored.unwrap_or(true);
        projections::fail(&mut end.outcome, failure);
    }
}

fn single(mut end: AttemptEnd) -> TaskEnd {
    end.outcome.data.entry("changed".to_owned()).or_insert(Value::Bool(false));
    TaskEnd {
        outcome: end.outcome.clone(),
        ignore_errors: end.ignore_errors,
        any_errors_fatal: end.any_errors_fatal,
        parts: vec![end],
        registered: Vec::new(),
    }
}

/// Returns the end of a loop. A failure is ignored if the task says so for all items that failed.
fn all(parts: Vec<AttemptEnd>, outcome: Outcome) -> TaskEnd {
    let failed = || parts.iter().filter(|part| part.outcome.is_failed());
    let ignore_errors = failed().next().is_some() && failed().all(|part| part.ignore_errors);
    let any_errors_fatal = parts.iter().any(|part| part.any_errors_fatal);
    TaskEnd { outcome, ignore_errors, any_errors_fatal, parts, registered: Vec::new() }
}

/// Returns the end of a task whose loop is wrong.
fn failed(run: &TaskRun<'_>, session: &Session<'_>, message: Message) -> TaskEnd {
    let mut outcome = errors::outcome(session, run.task, message.clone());
    outcome.data.insert("msg".to_owned(), Value::from(message.brief()));
    outcome.error = Some(message);
    let flag = |keyword| run.field(session, |fields, task| fields.flag(task, keyword, false)).unwrap_or(false);
    TaskEnd {
        outcome,
        ignore_errors: flag(Keyword::IgnoreErrors),
        any_errors_fatal: flag(Keyword::AnyErrorsFatal),
        ..TaskEnd::default()
    }
}

/// Returns the result of a loop without items.
fn no_items() -> Dict {
    let entries = [
        ("changed", Value::Bool(false)),
        ("failed", Value::Bool(false)),
        ("skipped", Value::Bool(true)),
        ("skip_reason", Value::from("No items in the list")),
        // Until ansible-core 2.24.
        ("skipped_reason", Value::from("No items in the list")),
    ];
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
