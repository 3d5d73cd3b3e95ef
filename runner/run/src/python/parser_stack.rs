//! The stack for reading Python sources.

use std::{io, thread};

/// Stack of a thread that reads sources. The parser grows its stack as it needs, but its syntax tree is dropped
/// recursively, once for each level of the source; a source of the largest size that consists only of nested levels
/// needs half of this.
const STACK: usize = 2 << 30;

/// Runs work that parses sources, in a thread with a stack for it.
///
/// # Errors
///
/// The thread does not start, or the parser panics.
pub(crate) fn with_parser_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("the parser does not understand a source"))
    })
}
