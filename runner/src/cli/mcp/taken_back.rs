//! What a kept run of a tool would take back, and how that ended.

use std::path::{Path, PathBuf};

use modbox_agents::answer::Answer;
use modbox_overlay::commit::{self, Conflict, Direction, OperationKind, Origin, StateDir, Undone};
use modbox_run::mask_live_secrets;

use crate::cli::kept_run::hide_secrets;
use crate::cli::mcp::plans::PlanRecord;
use crate::cli::printing::output;

/// A change that is taken back.
pub(crate) struct TakenBack {
    pub(crate) path: PathBuf,
    /// What that does, in a line.
    pub(crate) line: String,
}

/// Returns what a kept run of this origin would take back; `None` if no such run is kept.
///
/// # Errors
///
/// The folder of transactions cannot be read.
pub(crate) fn of_run(folder: &Path, run: &str, origin: &Origin) -> anyhow::Result<Option<Vec<TakenBack>>> {
    if !folder.exists() {
        return Ok(None);
    }
    let found = commit::list(&StateDir::open(folder)?)?;
    hide_secrets(&found);
    let journal = found.iter().filter(|one| one.run == run).find_map(|one| match &one.record {
        Ok((Direction::Keep, Some(journal))) if journal.origin == *origin => Some(journal),
        _ => None,
    });
    Ok(journal.map(|journal| journal.changed_paths().map(|(kind, path)| taken_back(kind, path)).collect()))
}

fn taken_back(kind: &OperationKind, path: PathBuf) -> TakenBack {
    let does = match kind {
        OperationKind::Create { .. } => "removes",
        OperationKind::Replace { .. } => "puts back the former",
        OperationKind::Remove { .. } => "puts back the removed",
        OperationKind::Attributes { .. } => "puts back the attributes of",
    };
    let line = mask_live_secrets(&output::clean_line(&format!("{does} {}", path.display())));
    TakenBack { path, line }
}

/// Returns the answer of a call whose run was taken back, or was not.
pub(crate) fn answer(record: &PlanRecord, undone: &Undone) -> Answer {
    let (status, why, conflicts) = match undone {
        Undone::Done => {
            return Answer {
                is_success: true,
                changes: record.changes.clone(),
                ..Answer::refused(&record.status, Vec::new())
            };
        }
        Undone::Conflict(conflicts) => {
            ("conflict", "nothing was changed, since a file was changed after the run", conflicts)
        }
        Undone::Unfinished(conflicts) => {
            ("unfinished", "a part was taken back; the operator must run `modbox recover`", conflicts)
        }
    };
    let reason = |Conflict { path, why }: &Conflict| format!("`{}`: {why}", path.display());
    let told = std::iter::once(why.to_owned()).chain(conflicts.iter().map(reason));
    Answer::refused(status, told.map(|note| mask_live_secrets(&output::clean_line(&note))).collect())
}
