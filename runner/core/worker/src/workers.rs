//! A source of workers: the process that was forked early, then processes of a program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Pid;

use crate::process::WorkerProcess;
use crate::role::Role;

/// How long the end of a killed process takes at most.
const PATIENCE: Duration = Duration::from_secs(5);

/// Source of worker processes. Clones share the process that was forked early.
#[derive(Debug, Clone)]
pub struct Workers {
    program: PathBuf,
    early: Arc<Mutex<Option<WorkerProcess>>>,
    /// Process whose namespaces the workers join.
    mounts_of: Option<Pid>,
}

impl Workers {
    /// Returns a source that starts the modbox program at `program` for each worker.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self { program, early: Arc::default(), mounts_of: None }
    }

    /// Returns this source with a process that was forked before, to be used for the first worker.
    #[must_use]
    pub fn with_early(self, early: Option<WorkerProcess>) -> Self {
        Self { early: Arc::new(Mutex::new(early)), ..self }
    }

    /// Returns this source without the process that was forked early, which has the memory of the monitor: for workers of
    /// another user.
    #[must_use]
    pub fn without_early(&self) -> Self {
        Self { early: Arc::default(), ..self.clone() }
    }

    /// Returns this source for workers that join the namespaces of a process, which has the role
    /// [`Role::Mounts`] and does not end before they have started.
    #[must_use]
    pub fn with_mounts_of(&self, process: Pid) -> Self {
        Self { mounts_of: Some(process), ..self.clone() }
    }

    /// Returns the modbox program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Starts a worker and gives it a role.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub fn start(&self, role: Role) -> io::Result<WorkerProcess> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = early
            && let Ok(worker) = self.assigned(worker, role)
        {
            return Ok(worker);
        }
        self.assigned(WorkerProcess::spawn(&self.program)?, role)
    }

    /// Gives a worker its role. A process that cannot get one is removed, so that no dead child stays in the table of
    /// processes.
    fn assigned(&self, worker: WorkerProcess, role: Role) -> io::Result<WorkerProcess> {
        match worker.assign(role, self.mounts_of) {
            Ok(()) => Ok(worker),
            Err(error) => {
                worker.kill();
                let _ = worker.wait(PATIENCE);
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use rustix::process::WaitOptions;

    use super::*;

    #[test]
    fn a_program_that_takes_no_role_leaves_no_child() {
        let workers = Workers::new("/bin/true".into());
        // It can end before or after it is given the role.
        for _ in 0..50 {
            if let Ok(worker) = workers.start(Role::Mounts) {
                assert!(worker.wait(PATIENCE).is_some());
            }
        }
        let child = rustix::process::wait(WaitOptions::NOHANG);
        assert_eq!(child.map(|ended| ended.map(|(pid, _)| pid)), Err(Errno::CHILD));
    }
}
