//! `meta` tasks: what they do to the run itself.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};

use crate::fields::conditions;
use crate::model::task::{ImplicitTask, Task, TaskKind};
use crate::report::events::{Event, TaskInfo};
use crate::report::message::Message;
use crate::report::outcome::Outcome;
use crate::run::errors;
use crate::run::order::handlers;
use crate::run::order::iterator::PlayIterator;
use crate::run::session::Session;
use crate::run::steps::refresh_inventory;

/// Runs a `meta` task.
///
/// # Errors
///
/// Its condition cannot be evaluated, a handler flushes handlers, or the inventory cannot be read again.
pub fn run(
    session: &mut Session<'_>,
    iterator: &mut PlayIterator,
    task: &Arc<Task>,
    info: &TaskInfo,
) -> Result<(), Message> {
    let meta = task.meta().unwrap_or_default().to_owned();
    let conditions = conditions::when(task);
    if matches!(meta.as_str(), "noop" | "refresh_inventory" | "reset_connection") {
        if !conditions.is_empty() {
            session.warn(format!("{meta} task does not support when conditional"));
        }
    } else if !matches!(task.kind, TaskKind::Implicit(ImplicitTask::RoleComplete)) {
        let scope = session.scope(Some(task));
        let found = conditions::first_false(session.engine, &scope, &conditions);
        if found.map_err(|error| errors::of_template(session, &error))?.is_some() {
            skip(session, task, info, &meta);
            return Ok(());
        }
    }
    let host = session.host_name.clone();
    let text = match meta.as_str() {
        "noop" => "noop".to_owned(),
        "flush_handlers" => {
            if iterator.is_in_handlers() {
                return Err(Message::new("flush_handlers cannot be used as a handler"));
            }
            handlers::mark_notified(session);
            iterator.start_handlers(session.play.handlers.concat());
            format!("triggered running handlers for {host}")
        }
        "refresh_inventory" => {
            refresh_inventory::run(session, task)?;
            "inventory successfully refreshed".to_owned()
        }
        "clear_facts" => {
            session.vars.clear_facts();
            "facts cleared".to_owned()
        }
        "clear_host_errors" => {
            iterator.clear_errors();
            "cleared host errors".to_owned()
        }
        "end_batch" | "end_play" | "end_host" => {
            session.play.ended |= meta == "end_play";
            iterator.end();
            match meta.as_str() {
                "end_batch" => "ending batch".to_owned(),
                "end_play" => "ending play".to_owned(),
                _ => format!("ending play for {host}"),
            }
        }
        "end_role" => end_role(iterator, task, &host),
        "reset_connection" => "reset connection".to_owned(),
        "role_complete" => {
            complete_role(session, task);
            format!("role_complete for {host}")
        }
        _ => return Err(Message::new(format!("invalid meta action requested: {meta}"))),
    };
    if !task.is_hidden() {
        session.event(Event::Meta { text: &text });
    }
    Ok(())
}

/// Skips the rest of a role's tasks.
fn end_role(iterator: &mut PlayIterator, task: &Task, host: &str) -> String {
    let role = task.frame.role();
    iterator.skip_while(|next| {
        let ends = matches!(next.kind, TaskKind::Implicit(ImplicitTask::RoleComplete));
        let same = match (role, next.frame.role()) {
            (Some(role), Some(other)) => Arc::ptr_eq(role, other),
            _ => false,
        };
        !(ends && same)
    });
    format!("ending role {} for {host}", role.map(|role| role.full_name()).unwrap_or_default())
}

/// Marks a use of a role as run to its end, if one of its tasks ran.
fn complete_role(session: &mut Session<'_>, task: &Task) {
    if let Some(role) = task.frame.role()
        && let Some(state) = session.play.role_states.get_mut(&role.identity)
    {
        state.completed |= state.had_task;
    }
}

/// Tells that a `meta` task was skipped.
fn skip(session: &mut Session<'_>, task: &Task, info: &TaskInfo, meta: &str) {
    let host = &session.host_name;
    let rest = match meta {
        "flush_handlers" => format!(", not running handlers for {host}"),
        "clear_facts" => format!(", not clearing facts and fact cache for {host}"),
        "clear_host_errors" => format!(", not clearing host error state for {host}"),
        "end_batch" => ", continuing current batch".to_owned(),
        "end_play" => ", continuing play".to_owned(),
        "end_host" => format!(", continuing execution for {host}"),
        _ => {
            let role = task.frame.role().map(|role| role.full_name()).unwrap_or_default();
            format!(", continuing role {role} for {host}")
        }
    };
    let reason = format!("{meta} conditional evaluated to False{rest}");
    session.event(Event::Meta { text: &reason });
    let mut data = Dict::new();
    data.insert("msg".to_owned(), Value::from(meta));
    data.insert("changed".to_owned(), Value::Bool(false));
    data.insert("skipped".to_owned(), Value::Bool(true));
    data.insert("skip_reason".to_owned(), Value::from(reason));
    let outcome = Outcome::of(data);
    session.event(Event::Result { task: info, outcome: &outcome, ignored: false });
}
