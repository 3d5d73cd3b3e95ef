//! The report of a run: result, outcome, what was granted, denied and used.

use modbox_contract::ModuleResult;
use modbox_kinds::Kind;
use modbox_python_json::{Value, to_value};
use modbox_vocabulary::{Confinement, Denial, Grant, Hint, LimitHit, Timing, Usage};
use serde::{Serialize, Serializer};

use crate::app::error::RunError;

/// How a run ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Status {
    /// The module succeeded and changed nothing.
    Ok,
    /// The module succeeded and changed something, or would have.
    Changed,
    /// The module had nothing to do.
    Skipped,
    /// The module failed, gave no valid result, or could not be started.
    Failed,
    /// The run needs what the policy refuses, and did not start.
    Denied,
    /// A limit was hit.
    Limit,
    /// The module crashed.
    Crashed,
    /// The run was asked for and not begun.
    Cancelled,
}

impl Status {
    /// Returns the word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether the module did what it was asked to.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Ok | Self::Changed | Self::Skipped)
    }
}

/// What is known of the module itself.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleFacts {
    /// The file, as it was named.
    pub path: String,
    /// Its kind, once detected.
    pub kind: Option<Kind>,
    /// Why it is of that kind.
    pub reason: String,
    /// SHA-256 of the file, in hex.
    #[serde(serialize_with = "with_algorithm")]
    pub digest: String,
}

/// Writes a digest with the name of its algorithm.
fn with_algorithm<S: Serializer>(digest: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("sha256:{digest}"))
}

/// Everything that is known of one run. Its serialised form is what `--output report` prints.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The module.
    pub module: ModuleFacts,
    /// How it ended.
    pub status: Status,
    /// The module's result, or a failed one in its place.
    pub result: ModuleResult,
    /// The limit that was hit.
    pub limit: Option<LimitHit>,
    /// What was granted.
    pub grants: Vec<Grant>,
    /// What was missing, as observed: all of it when the run was denied, what the module tried when it ran.
    pub denials: Vec<Denial>,
    /// How many attempts were refused beyond those in `denials`.
    #[serde(skip_serializing_if = "is_zero")]
    pub denials_omitted: u64,
    /// What may be missing, as guessed from what a failed module was given or printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
    /// What confined the module.
    pub confinement: Confinement,
    /// What was used.
    pub usage: Usage,
    /// Where the time went.
    pub timing: Timing,
    /// Where the temporary directory is, when it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_files: Option<String>,
    /// Things an operator should know that are no failure: a cache that cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was kept of stderr, for callers that pass it on; no part of the serialised report.
    #[serde(skip)]
    pub stderr: String,
    /// Why the module could not be started.
    #[serde(skip)]
    pub error: Option<RunError>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a result under `no_log` is replaced by (ansible-core 2.19, `module_response_deepcopy` and `CENSORED`).
pub const CENSORED: &str =
    "the output has been hidden due to the fact that 'no_log: true' was specified for this result";

impl Report {
    /// Leaves nothing of the result but its status, as `no_log` asks for.
    pub fn censor(&mut self) {
        self.result = self.result.censored(CENSORED);
    }

    /// Returns the report as the JSON object that `--output report` prints. `NaN` and long integers of the
    /// result are kept, as Python would write them.
    #[must_use]
    pub fn to_value(&self) -> Value {
        to_value(self).expect("every part of a report has a JSON form")
    }
}
