//! Keeps handlers for the commit of a play whose changes are held back, since they do more than change files: a service is
//! restarted when its new configuration is there. `after_commit` runs them.

use std::sync::Arc;

use crate::action_host::{ModuleCall, ModuleOptions};
use crate::fields::names;
use crate::model::task::Task;
use crate::report::events::Event;
use crate::run::session::{LateHandlers, PlayState, Session};

/// Lets a handler wait if it is to run after the commit. Returns whether it waits.
pub fn postpone(session: &mut Session<'_>, handler: &Arc<Task>) -> bool {
    let scope = session.scope(Some(handler));
    let name = names::full(handler, &names::short(session.engine, &scope, handler));
    let options = ModuleOptions {
        collections: session.collections(handler),
        task_name: name.clone(),
        role_name: handler.frame.role().map(|role| role.name.clone()),
        ..ModuleOptions::default()
    };
    let call = ModuleCall { name: handler.action_text().to_owned(), options, ..ModuleCall::default() };
    if !session.host.runs_after_commit(&call) {
        return false;
    }
    let text = format!("Handler {name} runs after the commit.");
    session.event(Event::Verbose { level: 1, text: &text });
    // Other handlers run before the commit.
    let play = PlayState { pending: Vec::new(), notified: Vec::new(), ..session.play.clone() };
    match session.late.last_mut() {
        Some(late) if late.host == session.host_name && Arc::ptr_eq(&late.play.frame, &play.frame) => {
            late.play = play;
            if !late.handlers.iter().any(|known| Arc::ptr_eq(known, handler)) {
                late.handlers.push(Arc::clone(handler));
            }
        }
        _ => {
            let host = session.host_name.clone();
            session.late.push(LateHandlers { host, play, handlers: vec![Arc::clone(handler)] });
        }
    }
    true
}
