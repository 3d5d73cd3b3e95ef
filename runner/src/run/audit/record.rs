//! What one line of the audit log says.
//!
//! Everything in it that a module or a caller wrote is masked, bounded, and escaped by the JSON around it, which is
//! ASCII: no text can end the line or reach a terminal as a control character.

use std::path::Path;
use std::time::{Duration, SystemTime};

use modbox_argument_spec::Secrets;
use modbox_python_json::{Dict, Value, encode};

use crate::kinds::Kind;
use crate::run::audit::arguments::{self, MASKED, shortened};
use crate::run::audit::who::Who;
use crate::run::no_log::censored;
use crate::run::report::{confinement_value, denial_value, grant_value, limit_value, usage_value};
use crate::run::{Arguments, Module, Report, RunRequest, digest};
use crate::sandbox::chain;
use crate::sandbox::invocation::{Confinement, Denial, LimitKind, Usage};
use crate::sandbox::limits::Limits;
use crate::sandbox::policy::Grant;

/// Grants and denials that are listed, each. How many there were is said when there are more.
const MAX_LISTED: usize = 100;

/// The internal arguments that matter here.
const CHECK_MODE_KEY: &str = "_ansible_check_mode";
const NO_LOG_KEY: &str = "_ansible_no_log";

/// The limits that a line names.
const LIMITS: [LimitKind; 11] = [
    LimitKind::Wall,
    LimitKind::Cpu,
    LimitKind::Memory,
    LimitKind::Stdout,
    LimitKind::Stderr,
    LimitKind::Processes,
    LimitKind::Disk,
    LimitKind::Files,
    LimitKind::Descriptors,
    LimitKind::HostMemory,
    LimitKind::Compile,
];

/// What the audit log is told of a run before it starts.
#[derive(Debug)]
pub struct AuditedRun<'a> {
    /// The module.
    pub module: &'a Module,
    /// Its name.
    pub name: &'a str,
    /// The arguments, with or without internal ones.
    pub arguments: &'a Dict,
    /// Whether the module was asked to change nothing.
    pub check_mode: bool,
    /// Whether nothing of the arguments and the result may be shown.
    pub no_log: bool,
    /// What was granted.
    pub grants: Vec<Grant>,
    /// The limits in force.
    pub limits: &'a Limits,
}

impl<'a> AuditedRun<'a> {
    /// Takes what the log needs from a request.
    #[must_use]
    pub fn of(module: &'a Module, request: &'a RunRequest<'_>) -> Self {
        let (arguments, check_mode, no_log) = match &request.arguments {
            Arguments::Task { args, internal } => (args, internal.check_mode, internal.no_log),
            Arguments::Complete(args) => {
                let flag = |key: &str| args.get(key).is_some_and(Value::is_truthy);
                (args, flag(CHECK_MODE_KEY), flag(NO_LOG_KEY))
            }
        };
        Self {
            module,
            name: request.name,
            arguments,
            check_mode,
            no_log,
            grants: request.policy.grants(),
            limits: request.limits,
        }
    }
}

/// One line in the making.
#[derive(Debug)]
pub(super) struct Record {
    line: Dict,
    secrets: Secrets,
    no_log: bool,
}

impl Record {
    /// Notes what is known before a run: until it is completed, the line says that the run was interrupted.
    pub(super) fn new(run: &AuditedRun<'_>, who: &Who) -> Self {
        let mut record = Self::not_loaded(run.module.path(), who, SystemTime::now());
        let (args, secrets) = arguments::shown(run.module, run.arguments, run.no_log);
        (record.secrets, record.no_log) = (secrets, run.no_log);
        let kind = run.module.detection().ok().map(|found| found.kind);
        record.put("module", module(run.module.path(), Some(run.name), kind, Some(run.module.digest())));
        record.put("args", args);
        record.put("check_mode", run.check_mode.into());
        record.put("grants", record.grants(&run.grants));
        record.put("limits", limits(run.limits));
        record
    }

    /// Notes what is known of a run whose module was not found. Its arguments are not shown: which of them are secret is
    /// for the module to say.
    pub(super) fn not_loaded(path: &Path, who: &Who, time: SystemTime) -> Self {
        let mut record = Self { line: Dict::new(), secrets: Secrets::default(), no_log: false };
        // In the order in which they are read.
        let time = humantime::format_rfc3339_micros(time).to_string();
        record.put("time", time.into());
        record.put("duration_us", 0_u64.into());
        record.put("status", "interrupted".into());
        record.put("exit", Value::Null);
        record.put("who", who.to_value());
        record.put("modbox", env!("CARGO_PKG_VERSION").into());
        record.put("module", module(path, None, None, None));
        for key in ["args", "check_mode", "grants", "denials", "limit", "limits"] {
            record.put(key, Value::Null);
        }
        record.put("usage", usage_value(&Usage::default(), (0, 0)));
        record.put("confinement", confinement_value(&Confinement::default()));
        record.put("error", Value::Null);
        record.put("result_digest", Value::Null);
        record
    }

    /// Notes how long the run took.
    pub(super) fn took(&mut self, time: Duration) {
        self.put("duration_us", u64::try_from(time.as_micros()).unwrap_or(u64::MAX).into());
    }

    /// Notes why there was no run.
    pub(super) fn fail(&mut self, error: &str, exit: u8) {
        self.put("status", "failed".into());
        self.put("exit", u32::from(exit).into());
        self.put("error", self.masked(error).into());
    }

    /// Notes how the run went.
    pub(super) fn complete(&mut self, report: &Report, exit: u8) {
        self.put("status", report.status.as_str().into());
        self.put("exit", u32::from(exit).into());
        self.put("grants", self.grants(&report.grants));
        self.put("denials", self.denials(&report.denials));
        self.put("limit", report.limit.map(limit_value).into());
        self.put("usage", usage_value(&report.usage, report.written));
        self.put("confinement", confinement_value(&report.confinement));
        let error = report.error.as_ref().map(|error| self.masked(&chain(error)));
        self.put("error", error.into());
        let result = if self.no_log { encode(&censored(&report.result)) } else { report.result.to_json() };
        self.put("result_digest", format!("sha256:{}", digest(result.as_bytes())).into());
    }

    /// Returns the line, with its line end.
    pub(super) fn to_line(&self) -> String {
        encode(&Value::Dict(self.line.clone())) + "\n"
    }

    fn put(&mut self, key: &str, value: Value) {
        self.line.insert(key.to_owned(), value);
    }

    /// A text that a module may have made of its arguments.
    fn masked(&self, text: &str) -> String {
        if self.no_log { MASKED.to_owned() } else { shortened(&self.secrets.mask_text(text)) }
    }

    fn grants(&self, grants: &[Grant]) -> Value {
        let one = |grant: &Grant| grant_value(&Grant { subject: self.masked_path(&grant.subject), ..grant.clone() });
        listed(grants.iter().map(one))
    }

    /// The operator chose what to grant; only what is a secret elsewhere is taken out.
    fn masked_path(&self, text: &str) -> String {
        shortened(&self.secrets.mask_text(text))
    }

    fn denials(&self, denials: &[Denial]) -> Value {
        let one = |denial: &Denial| {
            let (subject, allow) = (self.masked(&denial.subject), self.masked(&denial.allow));
            denial_value(&Denial { subject, allow, ..denial.clone() })
        };
        listed(denials.iter().map(one))
    }
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

/// A list of bounded length.
fn listed(items: impl ExactSizeIterator<Item = Value>) -> Value {
    let all = items.len();
    let mut shown: Vec<Value> = items.take(MAX_LISTED).collect();
    if all > MAX_LISTED {
        shown.push([("omitted", Value::from((all - MAX_LISTED) as u64))].into());
    }
    Value::List(shown)
}

/// The limits in force, under the names that `usage` has.
fn limits(limits: &Limits) -> Value {
    let entry = |kind: LimitKind| {
        let key = match kind.unit() {
            unit @ ("us" | "bytes") => format!("{}_{unit}", kind.as_str()),
            unit => unit.to_owned(),
        };
        (key, Value::from(limits.allowed(kind)))
    };
    Value::Dict(LIMITS.into_iter().map(entry).collect())
}
