//! A plan that one process has taken, to apply it or to drop it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;

use crate::cli::mcp::plans::files::{CLAIMED, GIVEN, RECORD, UNFINISHED, write};
use crate::cli::mcp::plans::record::{KeptAsk, PlanRecord, now_ms};

/// A plan that is applied or discarded, and by no other process.
#[derive(Debug)]
pub(crate) struct ClaimedPlan {
    pub(crate) record: PlanRecord,
    /// The saved preview.
    pub(crate) file: PathBuf,
    pub(super) claim: PathBuf,
}

/// Takes a plan for who decides by hand, by the path of its saved preview. `None` if that is the plan of no tool.
///
/// # Errors
///
/// The plan is too old, or is decided about already.
pub(crate) fn claim_by_hand(file: &Path) -> anyhow::Result<Option<ClaimedPlan>> {
    let (path, claim) = (file.with_extension(RECORD), file.with_extension(CLAIMED));
    let taken = || anyhow::anyhow!("`{}` is decided about already", file.display());
    let record = match PlanRecord::read(&path) {
        Ok(record) => record,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if claim.exists() { Err(taken()) } else { Ok(None) };
        }
        Err(error) => return Err(error).with_context(|| format!("failed to read `{}`", path.display())),
    };
    anyhow::ensure!(
        !record.is_over(),
        "the plan `{}` is older than 15 minutes, so it is not applied; the client calls again",
        file.display()
    );
    fs::rename(path, &claim).map_err(|_| taken())?;
    Ok(Some(ClaimedPlan { record, file: file.to_owned(), claim }))
}

impl ClaimedPlan {
    /// Returns the path of the record before the plan was taken.
    pub(crate) fn record_file(&self) -> PathBuf {
        self.claim.with_extension(RECORD)
    }

    /// Gives the plan back, of which nothing was made.
    pub(crate) fn give_back(&self) {
        // What cannot be given back is swept later.
        let _ = fs::rename(&self.claim, self.record_file());
    }

    /// Ends the plan after a person has said yes by hand. If its call waits for something that the person was asked for, the same call gets it
    /// when it comes again.
    ///
    /// # Errors
    ///
    /// The record cannot be written. Then the call asks again.
    pub(crate) fn give(&self, run: Option<&str>) -> io::Result<()> {
        let written = self.record.ask.as_ref().map_or(Ok(()), |ask| {
            let ask = KeptAsk { run: run.map(str::to_owned), ..ask.clone() };
            let record = PlanRecord { ask: Some(ask), asked_ms: now_ms(), ..self.record.clone() };
            write(&record, &self.claim.with_extension(UNFINISHED), &self.claim.with_extension(GIVEN))
        });
        self.remove();
        written
    }

    /// Removes the plan.
    pub(crate) fn remove(&self) {
        // What cannot be removed is swept later; it cannot be claimed again.
        let _ = fs::remove_file(&self.file);
        let _ = fs::remove_file(&self.claim);
    }
}

/// Returns the plan of a saved preview or of a record, if it is one of a tool.
pub(crate) fn plan_of(file: &Path) -> Option<PlanRecord> {
    PlanRecord::read(&file.with_extension(RECORD)).ok()
}
