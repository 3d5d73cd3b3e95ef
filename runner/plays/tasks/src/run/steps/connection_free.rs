//! Which plays need no connection to their hosts, so that they run for hosts elsewhere, too: their tasks only work with
//! variables, or are delegated to this machine.
//!
//! What a dynamic include brings is not known before it runs, so that such a play needs a connection.

use crate::keywords::Keyword;
use crate::load::values;
use crate::model::block::Item;
use crate::model::task::{Task, is_one_of};
use crate::run::session::Session;

/// Actions that work in the engine alone.
const ACTIONS: [&str; 11] = [
    "add_host",
    "assert",
    "debug",
    "fail",
    "group_by",
    "include_vars",
    "meta",
    "pause",
    "set_fact",
    "set_stats",
    "validate_argument_spec",
];

/// Says whether no task and no handler of a play needs a connection.
#[must_use]
pub fn is_play(session: &Session<'_>, items: &[Item]) -> bool {
    let mut handlers = session.play.handlers.iter().flatten();
    all(items, &|task| is_task(session, task)) && handlers.all(|task| is_task(session, task))
}

/// Says whether an action works in the engine alone.
#[must_use]
pub fn is_action(name: &str) -> bool {
    is_one_of(name, &ACTIONS)
}

fn is_task(session: &Session<'_>, task: &Task) -> bool {
    if task.meta() == Some("reset_connection") {
        return false;
    }
    is_action(task.action_text()) || is_delegated_here(session, task)
}

/// Says whether a task names a host to delegate to that is this machine.
fn is_delegated_here(session: &Session<'_>, task: &Task) -> bool {
    let written = task.keyword(Keyword::DelegateTo).filter(|source| !modbox_template::is_template(source));
    !task.is_include() && written.and_then(values::scalar_text).is_some_and(|host| session.hosts.is_here(&host))
}

fn all(items: &[Item], holds: &dyn Fn(&Task) -> bool) -> bool {
    items.iter().all(|item| match item {
        Item::Task(task) => holds(task),
        Item::Block(block) => [&block.tasks, &block.rescue, &block.always].into_iter().all(|part| all(part, holds)),
    })
}
