//! The report of a run: result, status, grants, denials and usage.

use modbox_argument_spec::PLACEHOLDER;
use modbox_contract::ModuleResult;
use modbox_kinds::Kind;
use modbox_policy::ModuleSignature;
use modbox_python_json::{Value, to_value};
use modbox_vocabulary::{
    Confinement, Denial, Grant, Hint, LimitHit, LostChange, Observation, OutsideRun, StubbedRequest, Timing, Usage,
    User, error_chain,
};
use serde::{Serialize, Serializer};

use crate::reports::error::RunError;
use crate::reports::error::layered_error::LayeredError;
use crate::reports::parts::effect_report::EffectReport;
use crate::reports::parts::provider_run::ProviderRun;
use crate::reports::parts::python_run::PythonRun;
use crate::reports::secrets::TaskSecrets;
use crate::reports::stopped::limit_message;
use crate::reports::{file_errors, observed, spelling};

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
    /// The run needs grants that the policy does not give, and did not start.
    Denied,
    /// A limit was hit.
    Limit,
    /// The module crashed.
    Crashed,
    /// The run was requested but not started.
    Cancelled,
}

impl Status {
    /// Returns the word for reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether the module succeeded.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Ok | Self::Changed | Self::Skipped)
    }

    /// Returns the status of a run whose module printed a result and was not stopped.
    pub(crate) fn of(result: &ModuleResult) -> Self {
        if result.failed() {
            Self::Failed
        } else if result.skipped() {
            Self::Skipped
        } else if result.changed() {
            Self::Changed
        } else {
            Self::Ok
        }
    }
}

/// Facts about the module itself.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleFacts {
    /// Path of the file, as the caller gave it.
    pub path: String,
    /// Name: the full one of a module in a collection or of ansible-core, else that of the file without its extension;
    /// `None` if the run did not begin.
    pub name: Option<String>,
    /// Version, if its metadata has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its kind, once detected.
    pub kind: Option<Kind>,
    /// Reason for the kind.
    pub reason: String,
    /// SHA-256 of the module with all its parts, in hex; without parts, that of its file.
    #[serde(serialize_with = "with_algorithm")]
    pub digest: String,
    /// The verdict on its signature, if policy files have trust rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<ModuleSignature>,
}

/// Writes a digest with the name of its algorithm.
fn with_algorithm<S: Serializer>(digest: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("sha256:{digest}"))
}

/// The user whose run it is, where that is another one than the user who runs modbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunUser {
    /// Login name, as in `/etc/passwd`.
    pub name: String,
    /// Number of the user, as in `/etc/passwd`.
    pub uid: u32,
}

impl From<&User> for RunUser {
    fn from(user: &User) -> Self {
        Self { name: user.name.clone(), uid: user.uid }
    }
}

/// Everything known about one run. Its serialised form is what `--output report` prints.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What ran: path, name, version, kind and digest.
    pub module: ModuleFacts,
    /// How it ended.
    pub status: Status,
    /// The module's result, or a failed one in its place.
    pub result: ModuleResult,
    /// The limit that was hit.
    pub limit: Option<LimitHit>,
    /// Grants of the run.
    pub grants: Vec<Grant>,
    /// Denials: all missing grants when the run did not start, else the refused attempts that were observed.
    pub denials: Vec<Denial>,
    /// Whether the denials are only what a confined run would be refused: this run was not confined.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// What else is known of an observed run. [`Self::to_value`] lists it.
    #[serde(skip)]
    pub observation: Box<Observation>,
    /// Number of denials beyond those in `denials`.
    #[serde(skip_serializing_if = "is_zero")]
    pub denials_omitted: u64,
    /// Changes of granted paths that did not reach the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostChange>,
    /// Names of processes that the module left running, and that ended with its room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<String>,
    /// Commands that ran outside of the module's room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideRun>,
    /// HTTP requests that a stub answered in place of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<StubbedRequest>,
    /// Grants that may be missing, guessed from the arguments and the output of a failed module.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
    /// User whose run it is, if that is another one than the user who runs modbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub become_user: Option<RunUser>,
    /// Where a Python module ran, if there was a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<PythonRun>,
    /// Confinement of the module.
    pub confinement: Confinement,
    /// What a run on layers changed, and whether that was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Box<EffectReport>>,
    /// Resources used.
    pub usage: Usage,
    /// Time by phase.
    pub timing: Timing,
    /// Path of the temporary directory, when it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_files: Option<String>,
    /// Notes for the operator that are not failures, such as a cache that cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The captured stderr, without the module's log lines. The limit of output bounds it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Whether the file system may have refused to rename a directory.
    #[serde(skip)]
    pub refused_renames: bool,
    /// Why the trust rules did not let the run start.
    #[serde(skip)]
    pub objections: Vec<String>,
    /// What a real run would be refused, for a run in check mode.
    #[serde(skip)]
    pub obstacles: Vec<String>,
    /// Error that kept the module from starting.
    #[serde(skip)]
    pub error: Option<RunError>,
    /// What a provider was asked, and its answer with types.
    #[serde(skip)]
    pub provider: Option<Box<ProviderRun>>,
    /// What must not be seen of the run.
    #[serde(skip)]
    pub secrets: TaskSecrets,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Text that replaces a result under `no_log` (ansible-core 2.19, `module_response_deepcopy` and `CENSORED`).
pub const CENSORED: &str =
    "the output has been hidden due to the fact that 'no_log: true' was specified for this result";

/// Beginning of a warning that modbox adds to a failed result for a denial or a hint.
pub const ADVICE_PREFIX: &str = "modbox: ";

/// Maximum number of obstacles in warnings; a person reads no more.
const MAX_OBSTACLES: usize = 8;

/// Beginning of the warning of an obstacle.
const OBSTACLE: &str = "check mode wrote nothing, and a real run would be refused: ";

/// End of Ansible's message for a script without a `#!` line.
const MISSING_INTERPRETER: &str = "is missing interpreter line";

/// Maximum number of lines of advice; a person reads no more.
const MAX_ADVICE: usize = 8;

impl Report {
    /// Returns the denials and hints in words for people, the first ones of each text. Empty for a run that did not
    /// start, whose result says what is missing.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        if self.status == Status::Denied {
            return Vec::new();
        }
        let all = self.denials.iter().map(Denial::message).chain(self.hints.iter().map(Hint::message));
        let mut lines: Vec<String> = Vec::new();
        let mut more = self.denials_omitted;
        for line in all {
            match lines.len() < MAX_ADVICE {
                true if lines.contains(&line) => {}
                true => lines.push(line),
                false => more += 1,
            }
        }
        if more > 0 {
            lines.push(format!("there are {more} more denials and hints; `--output report` lists them"));
        }
        lines
    }

    /// Returns what a person may have meant, for a mistake that the result's message tells of.
    #[must_use]
    pub fn tips(&self) -> Vec<String> {
        if self.status.is_success() {
            return Vec::new();
        }
        let message = self.result.as_dict().get("msg").and_then(Value::as_str).unwrap_or_default();
        let tips = spelling::tips(message).into_iter();
        let not_a_module = message.ends_with(MISSING_INTERPRETER).then(|| not_a_module(&self.module.path));
        // A failure of modbox itself has the numbers of Linux.
        let is_guest = self.result.parsed() && self.module.kind.is_some_and(Kind::is_wasm);
        let file_tips = if is_guest { file_errors::tips(message, &self.grants) } else { Vec::new() };
        let python_tips = self.python.as_ref().map(|run| run.tips(message)).unwrap_or_default();
        tips.chain(not_a_module).chain(file_tips).chain(python_tips).collect()
    }

    /// Adds advice and tips to the warnings of a failed result, and what a real run would be refused to those of a
    /// change in check mode. Ansible prints warnings, and nothing else of a report.
    pub(crate) fn warn_of_advice(&mut self) {
        let lines = match self.status {
            Status::Changed => obstacle_warnings(&self.obstacles),
            status if status.is_success() => return,
            _ => [self.advice(), self.tips()].concat(),
        };
        lines.iter().for_each(|line| self.result.warn(&format!("{ADVICE_PREFIX}{line}")));
    }

    /// Makes the report that of a run that was kept from crossing a limit.
    pub(crate) fn stop_at(&mut self, hit: LimitHit) {
        self.status = Status::Limit;
        self.limit = Some(hit);
        self.result.fail(&limit_message(hit));
    }

    /// Makes the report that of a run whose changes are discarded, because they cannot be known.
    pub(crate) fn discard(&mut self, error: &LayeredError) {
        self.status = Status::Failed;
        self.result.fail(&error_chain(error));
    }

    /// Removes what `no_log` hides: everything but the status from the result, stderr, and what the module tried to use.
    /// What arguments designate stays in grants, and in the denials of a run that did not start.
    pub fn censor(&mut self) {
        self.result = self.result.censored(CENSORED);
        self.stderr.clear();
        self.hints.clear();
        if self.status != Status::Denied {
            for denial in &mut self.denials {
                PLACEHOLDER.clone_into(&mut denial.subject);
                denial.allow.clear();
            }
        }
        // Words and names may come from the arguments. The profiles of the commands stay.
        self.observation.uses.clear();
        self.observation.renamed.clear();
        for command in &mut self.observation.commands {
            command.words.truncate(1);
            command.names.clear();
        }
        self.outside.iter_mut().for_each(|run| PLACEHOLDER.clone_into(&mut run.command));
        if let Some(python) = &mut self.python {
            python.failure = None;
        }
    }

    /// Returns the report with the module's name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.module.name = Some(name.to_owned());
        self
    }

    /// Returns the report as the JSON object that `--output report` prints. `NaN` and long integers of the
    /// result are kept, as Python would write them.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = to_value(self).expect("every part of a report has a JSON form");
        observed::tell(&mut value, &self.denials, &self.observation);
        value
    }
}

/// Says why a file without a `#!` line cannot run. ansible-core has such files for the documentation of its action plugins.
fn not_a_module(path: &str) -> String {
    let of_core = path.strip_suffix(".py").and_then(|path| path.rsplit_once("/ansible/modules/"));
    match of_core {
        Some((_, name)) if !name.contains('/') => {
            format!(
                "`{name}` is an action of plays, and this file is only its documentation; `modbox play` runs it in a task"
            )
        }
        _ => format!("`{path}` is not a module: it is neither WebAssembly nor a script with a `#!` line"),
    }
}

/// Returns the warnings for a run in check mode that would change something.
fn obstacle_warnings(obstacles: &[String]) -> Vec<String> {
    obstacles.iter().take(MAX_OBSTACLES).map(|obstacle| format!("{OBSTACLE}{obstacle}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_of_an_action_is_told_from_other_files() {
        let core = "/usr/lib/python3/dist-packages/ansible/modules/debug.py";
        assert!(not_a_module(core).starts_with("`debug` is an action of plays"));
        for other in ["/srv/ansible/modules/debug.sh", "./notes", "/srv/ansible/modules/a/b.py"] {
            assert!(not_a_module(other).contains("is not a module"), "{other}");
        }
    }
}
