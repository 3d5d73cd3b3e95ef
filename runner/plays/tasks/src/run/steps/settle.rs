//! What a task's end means for the play: counters, facts, notifications, registered results and failures.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_template::{Origin, Provenance};
use modbox_yaml::Source;

use crate::action_host::HostErrorKind;
use crate::keywords::Keyword;
use crate::load::values;
use crate::model::task::{Task, TaskKind, is_one_of};
use crate::report::events::{Event, TaskInfo};
use crate::report::message::Message;
use crate::report::outcome::{Outcome, Status};
use crate::run::ends::facts;
use crate::run::ends::projections;
use crate::run::order::handlers;
use crate::run::order::iterator::PlayIterator;
use crate::run::session::Session;
use crate::run::steps::task::TaskEnd;

/// Applies the end of a task.
///
/// # Errors
///
/// A notification means no handler.
pub fn settle(
    session: &mut Session<'_>,
    iterator: &mut PlayIterator,
    task: &Task,
    info: &TaskInfo,
    end: &TaskEnd,
) -> Result<(), Message> {
    session.counters.touched = true;
    let outcome = &end.outcome;
    let status = outcome.status();
    match status {
        Status::Failed => fail(session, iterator, task, info, end),
        Status::Unreachable => session.counters.unreachable += 1,
        Status::Skipped => session.counters.skipped += 1,
        Status::Ok | Status::Changed => succeed(session, iterator, task, end)?,
    }
    let ignored = status == Status::Failed && end.ignore_errors;
    session.event(Event::Result { task: info, outcome, ignored });
    register(session, task, end);
    if !matches!(status, Status::Skipped | Status::Unreachable)
        && let Some(role) = task.frame.role()
    {
        session.play.role_states.entry(role.identity.clone()).or_default().had_task = true;
    }
    Ok(())
}

fn fail(session: &mut Session<'_>, iterator: &mut PlayIterator, task: &Task, info: &TaskInfo, end: &TaskEnd) {
    if end.ignore_errors {
        session.counters.ok += 1;
        session.counters.ignored += 1;
        session.counters.changed += u64::from(end.outcome.is_changed());
        return;
    }
    if iterator.fail() {
        session.counters.rescued += 1;
        let failed = Value::Dict(failed_task(task, info));
        // The name of the task may have been made from results.
        let origin: Arc<Provenance> = Arc::new([Origin::Result(info.name.as_str().into())].into_iter().collect());
        session.vars.set("ansible_failed_task", &failed, Arc::clone(&origin));
        let result = Value::Dict(end.outcome.with_items());
        session.vars.set("ansible_failed_result", &result, origin);
    } else {
        session.counters.failed += 1;
        let failures = end.parts.iter().filter(|part| !part.ignore_errors).map(|part| part.outcome.failure);
        end.outcome.failure.into_iter().chain(failures.flatten()).for_each(|kind| session.note_failure(kind));
    }
}

fn succeed(session: &mut Session<'_>, iterator: &PlayIterator, task: &Task, end: &TaskEnd) -> Result<(), Message> {
    let changed = end.outcome.is_changed();
    for part in &end.parts {
        if changed && !part.notify.is_empty() {
            handlers::notify(session, &part.notify, iterator.is_in_handlers())?;
        }
        if part.included.is_empty() {
            facts::apply(session, task, &part.outcome);
        }
        for (name, source) in &part.included {
            session.vars.include(name, source.clone());
        }
    }
    if !task.is_include() {
        session.counters.ok += 1;
        session.counters.changed += u64::from(changed);
    }
    Ok(())
}

/// Registers the result of a task, or what its expressions made of it.
pub fn register(session: &mut Session<'_>, task: &Task, end: &TaskEnd) {
    projections::register(session, task, &end.registered);
    let outcome = &end.outcome;
    if let Some(name) = task.keyword(Keyword::Register).and_then(values::scalar_text) {
        let origin = Origin::Result(name.as_str().into());
        let data = Value::Dict(outcome.registered());
        match written_items(task, outcome, &data) {
            Some(source) => session.vars.set_source(&name, source, origin),
            None => session.vars.set(&name, &data, Arc::new([origin].into_iter().collect())),
        }
    }
}

/// Returns the result of a loop in which the items are the text of the play, so that the conditions in them stay
/// conditions. Everything else in it is data.
fn written_items(task: &Task, outcome: &Outcome, data: &Value) -> Option<Source> {
    let has_text = |item: &Outcome| item.item.as_ref().is_some_and(|(_, text)| !modbox_template::is_template(text));
    if !outcome.items.iter().any(has_text) {
        return None;
    }
    let whole = Source::data_of(data.clone(), &task.position);
    let results = whole.as_map()?.get("results")?.as_list()?;
    let written = results.iter().zip(&outcome.items).map(|(result, item)| match &item.item {
        Some((name, text)) if has_text(item) => {
            let name = Source::data_of(Value::from(name.as_str()), &task.position);
            result.with_entry(name, text.clone())
        }
        _ => result.clone(),
    });
    let results = Source::list_of(written.collect(), task.position.clone());
    Some(whole.with_entry(Source::literal("results"), results))
}

/// Returns what `ansible_failed_task` shows of a task.
fn failed_task(task: &Task, info: &TaskInfo) -> Dict {
    let mut shown = Dict::new();
    for (keyword, source) in task.keywords.iter() {
        shown.insert(keyword.text().to_owned(), source.to_data().unwrap_or_default());
    }
    let is_named = task.keywords.get(Keyword::Name).is_some() || matches!(task.kind, TaskKind::Implicit(_));
    let name = if is_named { info.short_name.clone() } else { String::new() };
    shown.insert("name".to_owned(), Value::from(name));
    shown.insert("action".to_owned(), Value::from(task.action_text()));
    let mut args = Dict::new();
    if let Some(raw) = &task.args.raw {
        args.insert("_raw_params".to_owned(), raw.to_data().unwrap_or_default());
    }
    for (name, argument) in &task.args.named {
        args.insert(name.to_string(), argument.value.to_data().unwrap_or_default());
    }
    shown.insert("args".to_owned(), Value::Dict(args));
    shown
}

/// Counts an include that was read.
pub fn count_include(session: &mut Session<'_>) {
    session.counters.ok += 1;
}

/// Fails an include whose file cannot be read.
pub fn fail_include(
    session: &mut Session<'_>,
    iterator: &mut PlayIterator,
    info: &TaskInfo,
    mut outcome: Outcome,
    reason: &Message,
) {
    session.event(Event::Error(reason));
    outcome.data.insert("failed".to_owned(), Value::Bool(true));
    outcome.data.insert("msg".to_owned(), Value::from(reason.brief()));
    session.counters.failed += 1;
    session.note_failure(HostErrorKind::NotFound);
    iterator.fail();
    session.event(Event::Result { task: info, outcome: &outcome, ignored: false });
}

/// Says whether a task belongs to a use of a role that ran already and does not run twice.
#[must_use]
pub fn is_repeated_role(session: &Session<'_>, task: &Task) -> bool {
    task.frame.role().is_some_and(|role| {
        let completed = session.play.role_states.get(&role.identity).is_some_and(|state| state.completed);
        !role.allow_duplicates && completed
    })
}

/// Returns the outcomes of the parts of an include that ran.
#[must_use]
pub fn included_parts(end: &TaskEnd) -> Vec<&Outcome> {
    let ran = |outcome: &&Outcome| {
        let holds = |key: &str| outcome.data.get(key).is_some_and(Value::is_truthy);
        !holds("skipped") && !holds("failed")
    };
    end.parts.iter().map(|part| &part.outcome).filter(ran).collect()
}

/// Says whether a task is one of those that the engine does itself.
#[must_use]
pub fn is_meta(task: &Arc<Task>) -> bool {
    is_one_of(task.action_text(), &["meta"])
}
