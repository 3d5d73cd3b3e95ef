//! Keeps the start of a process apart from the writing of a file that will be executed.
//!
//! Until it executes its program, a process that is being started holds copies of all descriptors of its parent. If one
//! of them is open for writing on an executable file, executing that file fails with "Text file busy".

use std::sync::{Mutex, MutexGuard, PoisonError};

static FILES_OR_PROCESSES: Mutex<()> = Mutex::new(());

/// Prevents the start of other processes by modbox until the guard is dropped. Hold it while a process is started, and
/// while a file is open for writing that will be executed.
pub fn exclude_spawns() -> MutexGuard<'static, ()> {
    FILES_OR_PROCESSES.lock().unwrap_or_else(PoisonError::into_inner)
}
