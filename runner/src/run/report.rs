//! The report of a run: result, outcome, what was granted, denied and used.

use modbox_python_json::Value;

use crate::contract::{Item, ModuleResult};
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
        Item::Object(self.entries()).to_value()
    }

    /// Returns its keys, in order.
    pub(crate) fn entries(&self) -> Vec<(&'static str, Item<'_>)> {
        let mut entries = Vec::with_capacity(12);
        entries.extend([
            ("module", self.module_item()),
            ("status", self.status.as_str().into()),
            ("result", Item::Dict(self.result.as_dict())),
            ("limit", self.limit.map_or(Item::Null, limit_item)),
            ("grants", Item::List(self.grants.iter().map(grant_item).collect())),
            ("denials", Item::List(self.denials.iter().map(denial_item).collect())),
            ("confinement", confinement_item(&self.confinement)),
            ("usage", usage_item(&self.usage, self.written)),
            ("timing", self.timing_item()),
        ]);
        if let Some(path) = &self.kept_files {
            entries.push(("kept_files", path.as_str().into()));
        }
        if !self.notes.is_empty() {
            entries.push(("notes", self.notes.iter().collect()));
        }
        entries
    }

    fn module_item(&self) -> Item<'_> {
        let module = &self.module;
        Item::Object(vec![
            ("path", module.path.as_str().into()),
            ("kind", module.kind.map(Kind::as_str).into()),
            ("reason", module.reason.as_str().into()),
            ("digest", format!("sha256:{}", module.digest).into()),
        ])
    }

    fn timing_item(&self) -> Item<'_> {
        let timing = &self.timing;
        Item::Object(vec![
            ("load_us", timing.load_us.into()),
            ("compile_us", timing.compile_us.into()),
            ("instantiate_us", timing.instantiate_us.into()),
            ("run_us", timing.run_us.into()),
        ])
    }
}

pub(super) fn usage_item(usage: &Usage, written: (u64, u64)) -> Item<'static> {
    Item::Object(vec![
        ("wall_us", usage.wall_us.into()),
        ("cpu_us", usage.cpu_us.into()),
        ("memory_bytes", usage.memory_bytes.into()),
        ("stdout_bytes", written.0.into()),
        ("stderr_bytes", written.1.into()),
        ("disk_bytes", usage.disk_bytes.into()),
        ("tmp_bytes", usage.tmp_bytes.into()),
        ("files", usage.files.into()),
        ("descriptors", usage.descriptors.into()),
    ])
}

fn limit_item(limit: LimitHit) -> Item<'static> {
    Item::Object(vec![
        ("kind", limit.kind.as_str().into()),
        ("allowed", limit.allowed.into()),
        ("unit", limit.unit.into()),
    ])
}

pub(super) fn confinement_item(confinement: &Confinement) -> Item<'_> {
    let layers = confinement.layers.iter().collect();
    Item::Object(vec![("level", u64::from(confinement.level).into()), ("layers", layers)])
}

pub(super) fn grant_item(grant: &Grant) -> Item<'_> {
    Item::Object(vec![
        ("capability", grant.capability.into()),
        ("subject", grant.subject.as_str().into()),
        ("source", grant.source.as_str().into()),
    ])
}

fn denial_item(denial: &Denial) -> Item<'_> {
    Item::Object(vec![
        ("capability", denial.capability.into()),
        ("subject", denial.subject.as_str().into()),
        ("operation", denial.operation.into()),
        ("allow", denial.allow.as_str().into()),
    ])
}
