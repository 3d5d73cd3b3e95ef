//! What is kept of a plan beside its saved preview.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use modbox_files::read_file;
use modbox_vocabulary::Capability;
use serde::{Deserialize, Serialize};

/// How long a person may think.
pub(crate) const LIFE: Duration = Duration::from_secs(15 * 60);

/// Maximum bytes of a record: a result is at most twice as long as an answer.
const MAX_RECORD: u64 = 1 << 20;

/// What is done when a person says yes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PlannedAction {
    /// The saved preview is applied.
    #[default]
    Apply,
    /// This run is taken back.
    Undo(String),
    /// This call is run, since what it does cannot be shown before.
    Run(PlannedCall),
    /// What the call of this digest has found out is told. It changed nothing.
    Tell(String),
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlannedCall {
    /// The name of the tool.
    pub(crate) tool: String,
    /// The arguments, as JSON.
    pub(crate) arguments: String,
    /// What a person is asked to grant to the run.
    #[serde(default)]
    pub(crate) wanted: Vec<KeptGrant>,
}

/// What a person is asked to grant to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptGrant {
    /// The grants as policy files have them.
    pub(crate) grants: Vec<(Capability, String)>,
    /// Where the paths led when the person was asked.
    pub(crate) hosts: Vec<PathBuf>,
    /// What the person was told.
    pub(crate) line: String,
}

/// A use that was refused, as an answer has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptDenial {
    pub(crate) capability: String,
    pub(crate) subject: String,
    pub(crate) key: String,
}

/// What is kept besides of a call that was given what a person is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptAsk {
    /// What the person is asked to grant, a line each.
    pub(crate) wanted: Vec<String>,
    /// The lines that the client may see before the person says yes: the same whatever the run has read.
    pub(crate) told: Vec<String>,
    /// Whether the call failed.
    pub(crate) is_failure: bool,
    pub(crate) denials: Vec<KeptDenial>,
    pub(crate) notes: Vec<String>,
    /// Name of the transaction that made the changes, after a person has said yes by hand.
    pub(crate) run: Option<String>,
}

/// What is kept of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlanRecord {
    /// SHA-256 of the tool, the module and the arguments.
    pub(crate) call: String,
    /// SHA-256 of the policy files.
    pub(crate) policy: String,
    /// When the person was asked, in milliseconds since 1970.
    pub(crate) asked_ms: u64,
    /// When the question reached the client, if that is later.
    #[serde(default)]
    pub(crate) told_ms: Option<u64>,
    /// The status of the report.
    pub(crate) status: String,
    /// The module's result.
    pub(crate) result: serde_json::Value,
    /// A line for each change.
    pub(crate) changes: Vec<String>,
    /// What is done when a person says yes.
    #[serde(default)]
    pub(crate) action: PlannedAction,
    /// What is kept besides of a call that was given what a person is asked for. None of its run is told before.
    #[serde(default)]
    pub(crate) ask: Option<KeptAsk>,
}

impl PlanRecord {
    /// Returns the lines that the client sees before the person says yes.
    pub(crate) fn told_lines(&self) -> Vec<String> {
        match &self.ask {
            Some(ask) => ask.told.clone(),
            None => self.changes.clone(),
        }
    }

    /// Returns how long the person has thought, in milliseconds.
    pub(crate) fn after_ms(&self) -> u64 {
        now_ms().saturating_sub(self.told_ms.unwrap_or(self.asked_ms))
    }

    /// Returns a record of this moment that says nothing else.
    pub(crate) fn now() -> Self {
        Self {
            call: String::new(),
            policy: String::new(),
            asked_ms: now_ms(),
            told_ms: None,
            status: String::new(),
            result: serde_json::json!({}),
            changes: Vec::new(),
            action: PlannedAction::Apply,
            ask: None,
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no record.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&read_file(path, MAX_RECORD)?)?)
    }

    /// Returns whether the person thinks for too long.
    pub(super) fn is_over(&self) -> bool {
        now_ms().checked_sub(self.asked_ms).is_none_or(|age| u128::from(age) >= LIFE.as_millis())
    }
}

/// Returns a time that is to come, in milliseconds since 1970.
pub(crate) fn future_ms(time: Instant) -> u64 {
    let left = u64::try_from(time.saturating_duration_since(Instant::now()).as_millis());
    now_ms().saturating_add(left.unwrap_or(u64::MAX))
}

/// Returns the time now, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
