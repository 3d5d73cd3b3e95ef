//! The report of a run: result, outcome, what was granted, denied and used.

use modbox_python_json::{Dict, Value};

use crate::contract::ModuleResult;
use crate::kinds::Kind;
use crate::run::RunError;
use crate::sandbox::invocation::{Confinement, Denial, LimitHit, Timing, Usage};
use crate::sandbox::policy::Grant;

/// How a run ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::Crashed => "crashed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What is known of the module itself.
#[derive(Debug, Clone)]
pub struct ModuleFacts {
    /// The file, as it was named.
    pub path: String,
    /// Its kind, once detected.
    pub kind: Option<Kind>,
    /// Why it is of that kind.
    pub reason: String,
    /// SHA-256 of the file, in hex.
    pub digest: String,
}

/// Everything that is known of one run.
#[derive(Debug)]
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
    /// What was missing: all of it when the run was denied, what the module tried when it ran.
    pub denials: Vec<Denial>,
    /// What confined the module.
    pub confinement: Confinement,
    /// What was used.
    pub usage: Usage,
    /// Bytes written to stdout and stderr, kept or not.
    pub written: (u64, u64),
    /// What was kept of stderr, for callers that pass it on; no part of the report itself.
    pub stderr: String,
    /// Where the time went.
    pub timing: Timing,
    /// Where the temporary directory is, when it was kept.
    pub kept_files: Option<String>,
    /// Things an operator should know that are no failure: a cache that cannot be used.
    pub notes: Vec<String>,
    /// Why the module could not be started.
    pub error: Option<RunError>,
}

/// What a result under `no_log` is replaced by (ansible-core 2.19, `module_response_deepcopy` and `CENSORED`).
pub const CENSORED: &str =
    "the output has been hidden due to the fact that 'no_log: true' was specified for this result";

impl Status {
    /// Returns whether the module did what it was asked to.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Ok | Self::Changed | Self::Skipped)
    }
}

impl Report {
    /// Leaves nothing of the result but its status, as `no_log` asks for.
    pub fn censor(&mut self) {
        self.result = self.result.censored(CENSORED);
    }

    /// Returns the report as the JSON object that `--output report` prints. `NaN` and long integers of the
    /// result are kept, as Python would write them.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut report = Dict::new();
        let mut put = |key: &str, value: Value| drop(report.insert(key.to_owned(), value));
        put("module", self.module_value());
        put("status", self.status.as_str().into());
        put("result", Value::Dict(self.result.as_dict().clone()));
        put("limit", self.limit.map(limit_value).into());
        put("grants", self.grants.iter().map(grant_value).collect::<Vec<_>>().into());
        put("denials", self.denials.iter().map(denial_value).collect::<Vec<_>>().into());
        put("confinement", confinement_value(&self.confinement));
        put("usage", usage_value(&self.usage, self.written));
        put("timing", self.timing_value());
        if let Some(path) = &self.kept_files {
            put("kept_files", path.as_str().into());
        }
        if !self.notes.is_empty() {
            put("notes", self.notes.iter().map(String::as_str).collect::<Vec<_>>().into());
        }
        Value::Dict(report)
    }

    fn module_value(&self) -> Value {
        let module = &self.module;
        [
            ("path", Value::from(module.path.as_str())),
            ("kind", module.kind.map(Kind::as_str).into()),
            ("reason", module.reason.as_str().into()),
            ("digest", format!("sha256:{}", module.digest).into()),
        ]
        .into()
    }

    fn timing_value(&self) -> Value {
        let timing = &self.timing;
        [
            ("load_us", timing.load_us),
            ("compile_us", timing.compile_us),
            ("instantiate_us", timing.instantiate_us),
            ("run_us", timing.run_us),
        ]
        .into()
    }
}

pub(super) fn usage_value(usage: &Usage, written: (u64, u64)) -> Value {
    [
        ("wall_us", usage.wall_us),
        ("cpu_us", usage.cpu_us),
        ("memory_bytes", usage.memory_bytes),
        ("stdout_bytes", written.0),
        ("stderr_bytes", written.1),
        ("disk_bytes", usage.disk_bytes),
        ("files", usage.files),
        ("descriptors", usage.descriptors),
    ]
    .into()
}

fn limit_value(limit: LimitHit) -> Value {
    let kind = limit.kind.as_str();
    [("kind", Value::from(kind)), ("allowed", limit.allowed.into()), ("unit", limit.unit.into())].into()
}

pub(super) fn confinement_value(confinement: &Confinement) -> Value {
    let layers: Vec<Value> = confinement.layers.iter().map(|layer| layer.as_str().into()).collect();
    [("level", Value::from(u64::from(confinement.level))), ("layers", Value::List(layers))].into()
}

pub(super) fn grant_value(grant: &Grant) -> Value {
    [("capability", grant.capability), ("subject", &grant.subject), ("source", &grant.source)].into()
}

fn denial_value(denial: &Denial) -> Value {
    [
        ("capability", denial.capability),
        ("subject", &denial.subject),
        ("operation", denial.operation),
        ("allow", &denial.allow),
    ]
    .into()
}
