//! What is kept of a plan beside its saved preview.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use modbox_files::read_file;
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
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlannedCall {
    /// The name of the tool.
    pub(crate) tool: String,
    /// The arguments, as JSON.
    pub(crate) arguments: String,
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
    /// The status of the report.
    pub(crate) status: String,
    /// The module's result.
    pub(crate) result: serde_json::Value,
    /// A line for each change.
    pub(crate) changes: Vec<String>,
    /// What is done when a person says yes.
    #[serde(default)]
    pub(crate) action: PlannedAction,
}

impl PlanRecord {
    /// Returns a record of this moment that says nothing else.
    pub(crate) fn now() -> Self {
        Self {
            call: String::new(),
            policy: String::new(),
            asked_ms: now_ms(),
            status: String::new(),
            result: serde_json::json!({}),
            changes: Vec::new(),
            action: PlannedAction::Apply,
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

/// Returns the time now, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
