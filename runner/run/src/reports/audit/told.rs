//! The audit line of a run that goes to the controller that asked for the run, besides the audit files.

use std::time::Instant;

use modbox_python_json::Value;

use crate::reports::audit::actor::Actor;
use crate::reports::audit::record::{AuditedRun, Record};
use crate::reports::report::Report;

/// The record of a run that will be told.
#[derive(Debug)]
pub struct ToldRecord {
    record: Record,
    started: Instant,
}

impl ToldRecord {
    /// Records the known facts of a run that begins.
    #[must_use]
    pub fn new(run: &AuditedRun<'_>) -> Self {
        Self { record: Record::new(run, &Actor::of_process()), started: Instant::now() }
    }

    /// Returns the record of a run that ended with a report. `exit` is the resulting exit status of modbox.
    #[must_use]
    pub fn finish(self, report: &Report, exit: u8) -> Value {
        let Self { mut record, started } = self;
        record.set_duration(started.elapsed());
        record.complete(report, Some(exit));
        record.into_value()
    }
}
