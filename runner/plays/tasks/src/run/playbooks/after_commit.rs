//! Runs the handlers that wait for the commit of a play.
//!
//! They run after the last play, in the order in which they were reached. A failed play commits nothing, so that none of
//! them runs.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::run::order::handlers;
use crate::run::order::iterator::PlayIterator;
use crate::run::playbooks::play::{self, RunError};
use crate::run::session::{LateHandlers, Session};
use crate::run::variables::refresh;

/// Commits the changes of the plays, and runs the handlers that wait for it.
///
/// # Errors
///
/// Something in a handler is wrong, so that the run ends at once.
pub fn run(session: &mut Session<'_>) -> Result<(), RunError> {
    let mut waiting: VecDeque<LateHandlers> = std::mem::take(&mut session.late).into();
    if waiting.is_empty() || session.any_failed() || !session.host.commit() {
        return Ok(());
    }
    while let Some(LateHandlers { host, play, handlers }) = waiting.pop_front() {
        if session.has_failed(&host) {
            continue;
        }
        session.enter(&host);
        session.play = play;
        refresh::magic(session);
        for handler in &handlers {
            handlers::mark(session, Arc::clone(handler));
        }
        let mut iterator = PlayIterator::new(Vec::new());
        // All handlers, as one that runs can notify others. Included ones are in no list of the play.
        let mut reached = session.play.handlers.concat();
        reached.extend(
            handlers
                .into_iter()
                .filter(|late| !session.play.handlers.iter().flatten().any(|one| Arc::ptr_eq(one, late))),
        );
        iterator.start_handlers(reached);
        play::run_tasks(session, &mut iterator)?;
        session.failed |= iterator.is_failed();
    }
    Ok(())
}
