//! The line that is completed, and the context in which its words mean something.

use std::ffi::{OsStr, OsString};

use modbox_cleanup::Cleanup;
use modbox_worker::{THIS_PROGRAM, Workers};

use crate::cli::context::Context;
use crate::cli::process::environment::Environment;
use crate::cli::process::signals;

/// Maximum number of candidates of each sort; a person reads no more.
pub(super) const MAX_CANDIDATES: usize = 1000;

/// Returns the context for looking modules up.
pub(super) fn context() -> Option<Context> {
    let cleanup = Cleanup::default();
    let signals = signals::watch(cleanup.clone()).ok()?;
    let environment = Environment::of_process().ok()?;
    Some(Context { environment, cleanup, signals, workers: Workers::new(THIS_PROGRAM.into()) })
}

/// Returns the words of the line that is completed, without the program's name.
pub(super) fn words() -> Vec<OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(2).collect()
}

pub(super) fn begins_with(text: &str, current: &OsStr) -> bool {
    current.to_str().is_some_and(|current| text.starts_with(current))
}
