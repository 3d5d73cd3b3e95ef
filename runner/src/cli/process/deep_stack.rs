//! A thread with a large stack, for plays and templates.
//!
//! Texts and values nest as deep as their author makes them: a long chain of operators, or a list in a list made by a loop.
//! Limits bound how deep that is, and the stack has room for it. Memory of a stack is taken only where it is used.

use std::io;
use std::panic::resume_unwind;
use std::thread::{self, Builder};

/// Bytes of the stack: more than the limits of templates let a value nest.
const STACK: usize = 1 << 30;

/// Runs work on a thread with a large stack, and returns its result.
///
/// # Errors
///
/// The thread cannot be started.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = Builder::new().name("plays".to_owned()).stack_size(STACK).spawn_scoped(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
