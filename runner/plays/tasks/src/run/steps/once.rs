//! `run_once` where a play runs for several hosts, one after the other: the first host runs the task, the others get
//! what it registered and its facts.

use crate::fields::Fields;
use crate::keywords::Keyword;
use crate::model::task::Task;
use crate::run::ends::facts;
use crate::run::session::Session;
use crate::run::steps::settle;
use crate::run::steps::task::TaskEnd;

/// Says whether a task runs once for all hosts of its play. With one host, every task does.
#[must_use]
pub fn applies(session: &Session<'_>, task: &Task) -> bool {
    if session.play.hosts.len() < 2 {
        return false;
    }
    let scope = session.scope(Some(task));
    let fields = Fields { engine: session.engine, scope: &scope };
    fields.flag(task, Keyword::RunOnce, false).unwrap_or(false)
}

/// Says whether an earlier host ran a task. A task that is reached again, as in a role that is used twice, is another
/// one.
pub fn is_done(session: &mut Session<'_>, task: &Task) -> bool {
    let place = task.position.to_string();
    let reached = session.play.reached.entry(place.clone()).or_default();
    *reached += 1;
    let key = (place, *reached);
    !session.done_once.insert(key)
}

/// Gives the other hosts of the play what a task registered, and its facts.
pub fn share(session: &mut Session<'_>, task: &Task, end: &TaskEnd) {
    let own = session.host_name.clone();
    for host in session.play.hosts.clone() {
        if host == own {
            continue;
        }
        session.enter(&host);
        if !end.outcome.is_failed() {
            end.parts.iter().for_each(|part| facts::apply(session, task, &part.outcome));
        }
        settle::register(session, task, end);
    }
    session.enter(&own);
}
