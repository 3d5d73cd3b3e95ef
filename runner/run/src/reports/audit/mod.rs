//! The audit log: one JSON line for each run in each file that the operator named, however the run ends.
//!
//! A run that cannot be audited does not start. The files are opened, checked, and found to have room before the module
//! is examined, and stay open, since a process that has confined itself can no longer open them. Facts that are known
//! beforehand, including the masked arguments, are put into the record at that time, too, so that a run that a signal
//! cuts short is audited like any other, with the status `interrupted`. Only events that no process can handle leave no
//! line: SIGKILL, and a failure of the machine.
//!
//! The line is written, and has reached the disk, before modbox returns the result.

mod actor;
mod agent_call;
mod arguments;
mod file;
mod observed_parts;
mod record;
mod told;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use modbox_cleanup::{Cleanup, UndoGuard};
use modbox_policy::{Access, Policy};

use self::actor::Actor;
pub use self::agent_call::{AgentCall, AgentDecision};
pub use self::file::AuditError;
use self::file::AuditFile;
use self::record::Record;
pub use self::record::{AuditedCommit, AuditedRun, CommitOutcome};
pub use self::told::ToldRecord;
use crate::reports::report::Report;

/// Audit log of a process, shared by all of its runs and threads.
#[derive(Debug)]
pub struct AuditLog {
    files: Vec<AuditFile>,
    /// Paths as the policy names them; two names of one file are both listed.
    named: Vec<PathBuf>,
    actor: Actor,
}

impl AuditLog {
    /// Opens the audit files that a policy names; `None` when it names none.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened or appended to, has no room for another line, or can be changed by the module.
    pub fn open(policy: &Policy) -> Result<Option<Arc<Self>>, AuditError> {
        let mut files: Vec<AuditFile> = Vec::new();
        for path in policy.audit() {
            let file = AuditFile::open(path)?;
            // A file with two names gets one line.
            if !files.iter().any(|other| other.is_same(&file)) {
                tracing::debug!(file = %path.display(), "opened an audit file");
                files.push(file);
            }
        }
        if files.is_empty() {
            return Ok(None);
        }
        let log = Self { files, named: policy.audit().to_vec(), actor: Actor::of_process() };
        log.check(policy)?;
        Ok(Some(Arc::new(log)))
    }

    /// Refuses a policy under which a module could change an audit file. A module that is granted everything may change
    /// it.
    ///
    /// # Errors
    ///
    /// A writable grant that contains an audit file.
    pub fn check(&self, policy: &Policy) -> Result<(), AuditError> {
        if policy.allows_everything() {
            return Ok(());
        }
        let around = |path: &Path| {
            let writable = policy.paths().iter().filter(|grant| grant.access == Access::Write);
            writable.map(|grant| grant.host.as_path()).find(|host| path.starts_with(host)).map(Path::to_owned)
        };
        match self.files.iter().find_map(|file| Some((file, around(file.real_path())?))) {
            Some((file, grant)) => Err(AuditError::Granted { path: file.path().to_owned(), grant }),
            None => Ok(()),
        }
    }

    /// Checks that there is room for a line, and records the known facts of a run. Its line is written in every case:
    /// by [`PendingRecord::finish`], when a signal ends the process, or when the pending record is dropped.
    ///
    /// # Errors
    ///
    /// A file without room for the line.
    pub fn start(self: &Arc<Self>, run: &AuditedRun<'_>, cleanup: &Cleanup) -> Result<PendingRecord, AuditError> {
        self.reserve(Record::new(run, &self.actor), cleanup)
    }

    /// Checks that there is room for a line, and records the known facts of a commit, as [`AuditLog::start`] does for a run.
    ///
    /// # Errors
    ///
    /// A file without room for the line.
    pub fn start_commit(
        self: &Arc<Self>,
        commit: AuditedCommit<'_>,
        cleanup: &Cleanup,
    ) -> Result<PendingRecord, AuditError> {
        self.reserve(Record::of_commit(commit, &self.actor), cleanup)
    }

    fn reserve(self: &Arc<Self>, record: Record, cleanup: &Cleanup) -> Result<PendingRecord, AuditError> {
        self.files.iter().try_for_each(AuditFile::reserve)?;
        let record = Mutex::new(Some(record));
        let shared = Arc::new(SharedRecord { log: Arc::clone(self), record, started: Instant::now() });
        let undo = {
            let shared = Arc::clone(&shared);
            // The process is ending, so an error cannot be reported any more.
            move || drop(shared.write(|_| {}))
        };
        Ok(PendingRecord { shared, cleanup: cleanup.clone(), undo: Some(cleanup.register(undo)) })
    }

    /// Writes the line of a run whose module was not found or could not be read.
    ///
    /// # Errors
    ///
    /// A file that does not take the line.
    pub fn append_not_loaded(&self, module: &Path, error: &str, exit: Option<u8>) -> Result<(), AuditError> {
        let mut record = Record::not_loaded(module, &self.actor, SystemTime::now());
        record.fail(error, exit);
        self.append(&record.to_line())
    }

    /// Returns the paths of the files, as the policy names them.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.named.iter()
    }

    fn append(&self, line: &str) -> Result<(), AuditError> {
        // Each file gets its line, even if another one fails.
        let results: Vec<_> = self.files.iter().map(|file| file.append(line.as_bytes())).collect();
        results.into_iter().collect()
    }
}

/// Record of a run whose line is still to be written. If it is dropped without a report, the line says that the run was
/// interrupted.
#[derive(Debug)]
pub struct PendingRecord {
    shared: Arc<SharedRecord>,
    cleanup: Cleanup,
    undo: Option<UndoGuard>,
}

impl PendingRecord {
    /// Writes the line of a run that ended with a report. `exit` is the resulting exit status of modbox; a job of a batch has
    /// none.
    ///
    /// # Errors
    ///
    /// A file that does not take the line; the others have it.
    pub fn finish(self, report: &Report, exit: Option<u8>) -> Result<(), AuditError> {
        if self.cleanup.is_ending() {
            // The report of a run that a signal cut short is not valid; the line says that it was interrupted.
            return Ok(());
        }
        self.shared.write(|record| record.complete(report, exit))
    }

    /// Writes the line of a commit that ended.
    ///
    /// # Errors
    ///
    /// A file that does not take the line; the others have it.
    pub fn finish_commit(
        self,
        commit: AuditedCommit<'_>,
        outcome: &CommitOutcome,
        exit: Option<u8>,
    ) -> Result<(), AuditError> {
        self.shared.write(|record| record.complete_commit(commit, outcome, exit))
    }
}

impl Drop for PendingRecord {
    fn drop(&mut self) {
        if self.cleanup.is_ending() {
            // The thread that ends the process writes the line. If this thread did, the process could end during the
            // write.
            std::mem::forget(self.undo.take());
        }
    }
}

#[derive(Debug)]
struct SharedRecord {
    log: Arc<AuditLog>,
    /// `None` once the line is written.
    record: Mutex<Option<Record>>,
    started: Instant,
}

impl SharedRecord {
    /// Writes the line, unless it is written. A second caller waits until the first one has written it.
    fn write(&self, complete: impl FnOnce(&mut Record)) -> Result<(), AuditError> {
        let mut pending = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut record) = pending.take() else { return Ok(()) };
        record.set_duration(self.started.elapsed());
        complete(&mut record);
        self.log.append(&record.to_line())
    }
}
