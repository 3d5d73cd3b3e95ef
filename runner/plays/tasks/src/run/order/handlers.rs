//! Handlers: which ones a notification means, and which ones run at a flush.

use std::sync::Arc;

use crate::fields::names;
use crate::keywords::Keyword;
use crate::model::task::{Task, TaskKind};
use crate::report::events::Event;
use crate::report::message::Message;
use crate::run::session::Session;

/// Records notifications of a task. In a handler, the handlers are marked at once.
///
/// # Errors
///
/// A notification means no handler.
pub fn notify(session: &mut Session<'_>, notifications: &[String], in_handlers: bool) -> Result<(), Message> {
    for notification in notifications {
        let found = matching(session, notification);
        if found.is_empty() {
            let text = format!(
                "The requested handler '{notification}' was not found in either the main handlers list nor in the \
                 listening handlers list"
            );
            if session.options.needs_handlers {
                return Err(Message::new(text));
            }
            session.warn(text);
            continue;
        }
        if in_handlers {
            found.into_iter().for_each(|handler| mark(session, handler));
        } else if !session.play.notified.contains(notification) {
            session.play.notified.push(notification.clone());
            let text = format!("Notification for handler {notification} has been saved.");
            session.event(Event::Verbose { level: 2, text: &text });
        }
    }
    Ok(())
}

/// Marks the handlers of all notifications. They run when they are reached.
pub fn mark_notified(session: &mut Session<'_>) {
    for notification in std::mem::take(&mut session.play.notified) {
        for handler in matching(session, &notification) {
            mark(session, handler);
        }
    }
}

/// Says whether a flush has anything to run.
#[must_use]
pub fn is_needed(session: &Session<'_>) -> bool {
    !session.play.notified.is_empty() || !session.play.pending.is_empty()
}

/// Takes the mark of a handler. Returns whether it had one, and so is to run.
pub fn take_mark(session: &mut Session<'_>, handler: &Arc<Task>) -> bool {
    let pending = &mut session.play.pending;
    match pending.iter().position(|marked| Arc::ptr_eq(marked, handler)) {
        Some(index) => {
            pending.remove(index);
            true
        }
        None => false,
    }
}

/// Marks a handler to run.
pub fn mark(session: &mut Session<'_>, handler: Arc<Task>) {
    if session.play.pending.iter().any(|marked| Arc::ptr_eq(marked, &handler)) {
        return;
    }
    let short = names::short(session.engine, &session.play_scope(&handler), &handler);
    let name = names::full(&handler, &short);
    session.event(Event::Notified { handler: &name });
    session.play.pending.push(handler);
}

/// Returns the handlers that a notification means: one of that name, and all that listen to it. Of handlers with one name,
/// the first one in the last list counts.
fn matching(session: &Session<'_>, notification: &str) -> Vec<Arc<Task>> {
    let mut found: Vec<Arc<Task>> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let handlers = || session.play.handlers.iter().rev().flatten();
    for handler in handlers() {
        if short(session, handler)
            .is_some_and(|short| all_names(handler, &short).iter().any(|name| name == notification))
        {
            found.push(Arc::clone(handler));
            break;
        }
    }
    for handler in handlers() {
        let TaskKind::Handler(topics) = &handler.kind else { continue };
        if !topics.iter().any(|topic| topic == notification) {
            continue;
        }
        if let Some(name) = short(session, handler) {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
        }
        if !found.iter().any(|known| Arc::ptr_eq(known, handler)) {
            found.push(Arc::clone(handler));
        }
    }
    found
}

/// Returns the name of a handler, evaluated with the variables of its play. `None` if it has none that is known.
fn short(session: &Session<'_>, handler: &Task) -> Option<String> {
    let source = handler.keywords.get(Keyword::Name)?;
    if !modbox_template::is_template(source) {
        return crate::load::values::scalar_text(source).filter(|name| !name.is_empty());
    }
    let scope = session.play_scope(handler);
    let value = session.engine.evaluate(source, &scope).ok()?.value;
    Some(modbox_python_json::str(&crate::vars::layer::to_json(&value)))
}

/// Returns the names by which a handler can be notified.
fn all_names(handler: &Task, short: &str) -> Vec<String> {
    let mut all = vec![short.to_owned()];
    if let Some(role) = handler.frame.role() {
        all.push(format!("{} : {short}", role.name));
        all.push(format!("{} : {short}", role.full_name()));
    }
    all
}
