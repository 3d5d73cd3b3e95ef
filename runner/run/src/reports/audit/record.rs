//! One line of the audit log.
//!
//! Each text from a module or a caller is masked, bounded, and escaped as ASCII JSON, so that no text can end the line
//! or send control characters to a terminal.

use std::path::Path;
use std::time::{Duration, SystemTime};

use modbox_argument_spec::{PLACEHOLDER, Secrets};
use modbox_kinds::Kind;
use modbox_policy::ModuleSignature;
use modbox_python_json::{Dict, Value, encode, to_value};
use modbox_vocabulary::time::micros;
use modbox_vocabulary::{Confinement, Grant, LimitKind, Limits, LostChange, Unit, Usage, User, error_chain};
use serde::Serialize;

use crate::module_digest::digest;
use crate::modules::module::Module;
use crate::reports::audit::actor::Actor;
use crate::reports::audit::agent_call::{AgentCall, AgentDecision};
use crate::reports::audit::arguments::{self, shortened};
use crate::reports::audit::observed_parts::{self, numbers};
use crate::reports::live_secrets;
use crate::reports::parts::effect_report::{CommitReport, CommitState, EffectReport, Remark};
use crate::reports::report::{CENSORED, Report, RunUser};
use crate::reports::secrets::TaskSecrets;
use crate::request::run_request::{Arguments, RunRequest};

/// Grants and denials that are listed, each. Beyond that, the line has the number of omitted ones.
const MAX_LISTED: usize = 100;

/// Denials that are listed. A module that is observed has many, of which rules are made.
const MAX_DENIALS: usize = 1024;

/// The internal argument that the log reads.
const CHECK_MODE_KEY: &str = "_ansible_check_mode";

/// Facts about a run that the audit log gets before the run starts.
#[derive(Debug)]
pub struct AuditedRun<'a> {
    /// What is run.
    pub module: &'a Module,
    /// The module's name.
    pub name: &'a str,
    /// The arguments, with or without internal ones.
    pub arguments: &'a Dict,
    /// Whether the module is only asked what it would change.
    pub check_mode: bool,
    /// What must not be seen of it.
    pub secrets: TaskSecrets,
    /// The user whose run it is, if that is another one than the user who runs modbox.
    pub user: Option<&'a User>,
    /// The verdict on the module's signature, if policy files have trust rules.
    pub signature: Option<&'a ModuleSignature>,
    /// SHA-256 of the module with all its parts, in hex, if it is known.
    pub digest: Option<&'a str>,
    /// All that the run may reach, with the source of each.
    pub grants: Vec<Grant>,
    /// The limits in force.
    pub limits: &'a Limits,
    /// The call of an agent that it is made for.
    pub agent: Option<&'a AgentCall>,
}

impl<'a> AuditedRun<'a> {
    /// Returns the facts from a request.
    #[must_use]
    pub fn of(module: &'a Module, request: &'a RunRequest<'_>) -> Self {
        let (arguments, check_mode) = match &*request.arguments {
            Arguments::Task { args, internal } => (args, internal.check_mode),
            Arguments::Complete(args) => (args, args.get(CHECK_MODE_KEY).is_some_and(Value::is_truthy)),
        };
        Self {
            module,
            name: request.name,
            arguments,
            check_mode,
            secrets: TaskSecrets::of(module, request),
            user: request.policy.user(),
            signature: request.policy.trust().signature.as_ref(),
            digest: request.policy.trust().digest.as_deref(),
            grants: request.policy.grants(),
            limits: request.limits,
            agent: None,
        }
    }
}

/// Returns what the log has of a run on layers: the numbers of changes and the state of their commit.
fn effect(effect: &EffectReport) -> Value {
    [
        ("mode", json(&effect.mode)),
        ("changed", effect.changed.into()),
        ("complete", effect.complete.into()),
        ("totals", json(&effect.totals)),
        ("state", json(&effect.commit.state)),
        ("run", effect.commit.run.as_deref().map_or(Value::Null, Value::from)),
    ]
    .into()
}

/// A commit of changes that no run of a module ends with.
#[derive(Debug, Clone, Copy)]
pub struct AuditedCommit<'a> {
    /// Command that commits: `apply`, `undo`, `play` or `mcp`.
    pub command: &'a str,
    /// File that the command was given, or the record of the transaction that is taken back.
    pub path: &'a Path,
    /// The decision about the call of an agent that it follows.
    pub agent: Option<AgentDecision<'a>>,
}

/// How a commit ended.
#[derive(Debug, Clone)]
pub struct CommitOutcome {
    /// State, in one word: that of a commit, or `undone`.
    pub state: &'static str,
    /// Name of the transaction.
    pub run: Option<String>,
    /// Whether files were changed; `None` if the commit failed.
    pub changed: Option<bool>,
    /// Why it failed.
    pub error: Option<String>,
}

impl From<&CommitReport> for CommitOutcome {
    fn from(commit: &CommitReport) -> Self {
        let reasons = commit.reasons.iter().map(|Remark { path, why }| format!("`{path}`: {why}"));
        let error = reasons.collect::<Vec<_>>().join("; ");
        Self {
            state: commit.state.into(),
            run: commit.run.clone(),
            changed: (!commit.state.is_failure()).then_some(commit.state == CommitState::Committed),
            error: (!error.is_empty()).then_some(error),
        }
    }
}

/// Line that is being put together.
#[derive(Debug)]
pub(super) struct Record {
    line: Dict,
    secrets: TaskSecrets,
    /// Secrets of arguments, as texts of every kind have them.
    texts: Secrets,
    /// The arguments, while the module may have secrets that only its result tells.
    open_arguments: Option<Dict>,
}

impl Record {
    /// Starts the record of a run. Until it is completed, it says that the run was interrupted.
    pub(super) fn new(run: &AuditedRun<'_>, actor: &Actor) -> Self {
        let mut record = Self::not_loaded(run.module.shown_path(), actor, SystemTime::now());
        record.secrets = run.secrets.clone();
        record.texts = record.secrets.suspected().with_escapes();
        let args = arguments::bounded(record.secrets.shown_arguments(run.module, run.arguments));
        record.open_arguments = record.secrets.arguments_to_open(run.module, run.arguments);
        let kind = run.module.detection().ok().map(|found| found.kind);
        let digest = run.digest.unwrap_or_else(|| run.module.digest());
        record.put("module", module(run.module.shown_path(), Some(run.name), kind, Some(digest)));
        if let Some(signature) = run.signature {
            record.put("signature", json(signature));
        }
        record.put("args", args);
        record.put("check_mode", run.check_mode.into());
        record.put("become_user", run.user.map_or(Value::Null, |user| json(&RunUser::from(user))));
        let grants: Vec<Value> = run.grants.iter().map(json).collect();
        record.put("grants", record.bounded_list(&grants, 0, false, MAX_LISTED));
        record.put("limits", limits(run.limits));
        if let Some(call) = run.agent {
            record.put("mcp", call.to_value());
        }
        record
    }

    /// Starts the record of a run whose module was not found. It omits the arguments, because only the module says
    /// which of them are secret.
    pub(super) fn not_loaded(path: &Path, actor: &Actor, time: SystemTime) -> Self {
        let mut record = Self {
            line: Dict::new(),
            secrets: TaskSecrets::default(),
            texts: Secrets::default(),
            open_arguments: None,
        };
        // The keys are in reading order.
        let time = humantime::format_rfc3339_micros(time).to_string();
        record.put("time", time.into());
        record.put("duration_us", 0_u64.into());
        record.put("status", "interrupted".into());
        record.put("exit", Value::Null);
        record.put("who", actor.to_value());
        record.put("modbox", env!("CARGO_PKG_VERSION").into());
        record.put("module", module(path, None, None, None));
        for key in ["become_user", "args", "check_mode", "effect", "grants", "denials", "outside", "limit", "limits"] {
            record.put(key, Value::Null);
        }
        record.put("usage", json(&Usage::default()));
        record.put("confinement", json(&Confinement::default()));
        record.put("error", Value::Null);
        record.put("notes", Value::Null);
        record.put("result_digest", Value::Null);
        record
    }

    /// Starts the record of a commit. Until it is completed, it says that the commit was interrupted.
    pub(super) fn of_commit(commit: AuditedCommit<'_>, actor: &Actor) -> Self {
        let mut record = Self::not_loaded(commit.path, actor, SystemTime::now());
        let name = format!("modbox {}", commit.command);
        record.put("module", module(commit.path, Some(&name), None, None));
        record.put("effect", [("mode", Value::from(commit.command))].into());
        if let Some(decided) = commit.agent {
            record.put("mcp", decided.call.to_value());
            record.put("answer", decided.to_value());
        }
        record
    }

    /// Records how a commit ended.
    pub(super) fn complete_commit(&mut self, commit: AuditedCommit<'_>, outcome: &CommitOutcome, exit: Option<u8>) {
        let status = match outcome.changed {
            Some(true) => "changed",
            Some(false) => "ok",
            None => "failed",
        };
        self.put("status", status.into());
        self.put("exit", exit.map(u32::from).into());
        self.put("error", outcome.error.as_deref().map(|error| self.masked(error)).into());
        let effect = [
            ("mode", commit.command.into()),
            ("changed", outcome.changed.unwrap_or_default().into()),
            ("state", outcome.state.into()),
            ("run", outcome.run.as_deref().map_or(Value::Null, Value::from)),
        ];
        self.put("effect", effect.into());
    }

    /// Records how long the run took.
    pub(super) fn set_duration(&mut self, time: Duration) {
        self.put("duration_us", micros(time).into());
    }

    /// Records why the run did not start.
    pub(super) fn fail(&mut self, error: &str, exit: Option<u8>) {
        self.put("status", "failed".into());
        self.put("exit", exit.map(u32::from).into());
        self.put("error", self.masked(error).into());
    }

    /// Records how the run went.
    pub(super) fn complete(&mut self, report: &Report, exit: Option<u8>) {
        self.open(&report.secrets);
        let result = match self.secrets.hides_all() {
            true => report.result.censored(CENSORED).to_json(),
            false => report.result.to_json(),
        };
        if let Value::Dict(value) = report.to_value() {
            self.copy_from(&value, &result);
        }
        self.put("effect", report.effect.as_deref().map_or(Value::Null, effect));
        self.put("exit", exit.map(u32::from).into());
        let lost = (!report.lost.is_empty()).then(|| LostChange::message(&report.lost));
        let error = report.error.as_ref().map(|error| error_chain(error)).or(lost);
        self.put("error", error.map(|error| self.masked(&error)).into());
    }

    /// Masks arguments by the secrets that the result has told, and shows those that had to wait for them.
    fn open(&mut self, secrets: &TaskSecrets) {
        self.secrets.extend(secrets);
        self.texts = self.secrets.suspected().with_escapes();
        if let Some(arguments) = self.open_arguments.take().filter(|_| !self.secrets.hides_content()) {
            self.put("args", arguments::bounded(self.texts.mask_dict(arguments)));
        } else if let Some(arguments) = self.line.get_mut("args") {
            *arguments = self.texts.mask(std::mem::take(arguments));
        }
    }

    /// Copies entries from the JSON form of a report. `result` is the JSON of its result.
    fn copy_from(&mut self, report: &Dict, result: &str) {
        for key in ["status", "limit", "usage", "confinement"] {
            self.put(key, report.get(key).cloned().unwrap_or_default());
        }
        if let Some(observed) = report.get("observed") {
            self.put("observed", observed.clone());
        }
        for (key, hidden, most) in [("grants", false, MAX_LISTED), ("denials", self.secrets.hides_all(), MAX_DENIALS)] {
            let items = report.get(key).and_then(Value::as_list).unwrap_or_default();
            let omitted = count(report.get(&format!("{key}_omitted")));
            self.put(key, self.bounded_list(items, omitted, hidden, most));
        }
        self.line.extend(observed_parts::of(report, &self.texts, self.secrets.hides_all()));
        let outside = report.get("outside").and_then(Value::as_list).unwrap_or_default();
        self.put("outside", self.bounded_commands(outside));
        self.put("notes", self.bounded_notes(report.get("notes").and_then(Value::as_list).unwrap_or_default()));
        self.put("result_digest", format!("sha256:{}", digest(result.as_bytes())).into());
    }

    /// Returns a bounded list of commands that ran outside, without secrets. `no_log` hides their words.
    fn bounded_commands(&self, commands: &[Value]) -> Value {
        let hidden = self.secrets.hides_all();
        let entry = |(key, value): (&String, &Value)| {
            let shown = match value.as_str() {
                Some(_) if hidden && key == "command" => PLACEHOLDER.into(),
                Some(text) => shortened(&self.texts.mask_text(text)).into(),
                None => value.clone(),
            };
            (key.clone(), shown)
        };
        let one = |item: &Value| item.as_dict().map(|item| Value::Dict(item.iter().map(entry).collect()));
        let mut shown: Vec<Value> = commands.iter().take(MAX_LISTED).filter_map(one).collect();
        let omitted = commands.len().saturating_sub(MAX_LISTED) as u64;
        if omitted > 0 {
            shown.push([("omitted", Value::from(omitted))].into());
        }
        Value::List(shown)
    }

    /// Returns a bounded list of notes without secrets.
    fn bounded_notes(&self, notes: &[Value]) -> Value {
        let one = |note: &Value| note.as_str().map(|note| Value::from(self.masked(note)));
        notes.iter().take(MAX_LISTED).filter_map(one).collect::<Vec<_>>().into()
    }

    /// Returns the line, including its line end.
    pub(super) fn to_line(&self) -> String {
        encode(&Value::Dict(self.line.clone())) + "\n"
    }

    /// Returns the line as an object.
    pub(super) fn into_value(self) -> Value {
        Value::Dict(self.line)
    }

    fn put(&mut self, key: &str, value: Value) {
        self.line.insert(key.to_owned(), value);
    }

    /// Returns a text without secrets, since a module may have made it from its arguments.
    fn masked(&self, text: &str) -> String {
        match self.secrets.hides_all() {
            true => PLACEHOLDER.to_owned(),
            // A commit has no arguments, and secrets in the names of its files.
            false => shortened(&live_secrets::mask(&self.texts.mask_text(text))),
        }
    }

    /// Returns a bounded list of grants or denials without secrets. With `hidden`, which `no_log` sets for denials,
    /// their subjects and remedies are masked, too, since these may come from the arguments.
    fn bounded_list(&self, items: &[Value], omitted: u64, hidden: bool, most: usize) -> Value {
        let text = |key: &str, text: &str| match hidden && matches!(key, "subject" | "allow") {
            true => PLACEHOLDER.to_owned(),
            false => shortened(&self.texts.mask_text(text)),
        };
        let shown = |key: &str, item: &Value| item.as_str().map_or_else(|| numbers(item), |it| text(key, it).into());
        let entry = |(key, value): (&String, &Value)| (key.clone(), shown(key, value));
        let one = |item: &Value| item.as_dict().map(|item| Value::Dict(item.iter().map(entry).collect()));
        let mut shown: Vec<Value> = items.iter().take(most).filter_map(one).collect();
        let omitted = omitted.saturating_add(items.len().saturating_sub(most) as u64);
        if omitted > 0 {
            shown.push([("omitted", Value::from(omitted))].into());
        }
        Value::List(shown)
    }
}

/// Returns a number from a report; 0 if it is missing.
fn count(number: Option<&Value>) -> u64 {
    match number {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or_default(),
        _ => 0,
    }
}

/// Returns a part of a report in its serialised form.
fn json(part: &impl Serialize) -> Value {
    to_value(part).expect("every part of a report has a JSON form")
}

fn module(path: &Path, name: Option<&str>, kind: Option<Kind>, digest: Option<&str>) -> Value {
    let digest = digest.map(|digest| format!("sha256:{digest}"));
    [
        ("path", Value::from(shortened(&path.to_string_lossy()))),
        ("name", name.map(shortened).into()),
        ("kind", kind.map(Kind::as_str).into()),
        ("digest", digest.into()),
    ]
    .into()
}

/// Returns the limits in force, under the names that `usage` has.
fn limits(limits: &Limits) -> Value {
    let entry = |kind: LimitKind| {
        let key = match kind.unit() {
            unit @ (Unit::Us | Unit::Bytes) => format!("{kind}_{unit}"),
            unit => unit.to_string(),
        };
        (key, Value::from(limits.allowed(kind)))
    };
    Value::Dict(LimitKind::all().iter().copied().map(entry).collect())
}
