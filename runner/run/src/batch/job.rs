//! Parses one line of a batch: the module, its arguments and the options of the run.

use std::path::PathBuf;

use modbox_contract::{CallerChoices, Dict, InternalArgs, Release, RunModes, Value, args};
use modbox_kinds::Kind;
use modbox_policy::{FileRules, LimitOverrides};
use modbox_python_json::{decode, from_value};
use serde::Deserialize;

use crate::reports::audit::AgentCall;

/// A job, as parsed from its line.
#[derive(Debug, Clone)]
pub struct Job {
    /// Identifies the job in its report; `null` when the line has no `id`.
    pub id: Value,
    /// A module file, a guest crate's directory, or a name.
    pub module: PathBuf,
    /// The module's arguments.
    pub args: Dict,
    /// All other keys of the line.
    pub options: JobOptions,
}

/// Optional keys of a line, beside `id`, `module` and `args`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobOptions {
    /// The module's name; derived from `module` when absent.
    pub name: Option<String>,
    /// Report what would change and change nothing.
    pub check: bool,
    /// Diff mode: ask the module for differences.
    pub diff: bool,
    /// Verbosity that is passed to the module.
    pub verbosity: u8,
    /// Tell the module to log nothing, and report only the status of its result.
    pub no_log: bool,
    /// Names of options whose values are secrets, besides those that the module declares.
    pub secrets: Vec<String>,
    /// Name or number of the user whose run it is; the user who runs modbox when absent.
    pub become_user: Option<String>,
    /// The module's kind; detected when absent.
    pub kind: Option<String>,
    /// Also pass a wasm module its arguments on stdin.
    pub stdin_args: bool,
    /// Use the last line of stdout that is a JSON object as the result.
    pub last_json_line: bool,
    /// Rules for this job only, in addition to those of the batch, in the form that a policy file has for one module.
    pub policy: Option<FileRules>,
    /// The limits that the line of the job sets; `None` if it sets none.
    pub limits: Option<LimitOverrides>,
    /// Internal arguments, and the release of Ansible whose contract applies.
    pub internal: CallerChoices,
    /// Let the result repeat the arguments, as `invocation`, under ansible-core 2.21 and newer.
    #[serde(skip)]
    pub repeats_arguments: bool,
    /// The soft limit of open files of a native Python module; 0 to leave it.
    #[serde(skip)]
    pub open_files: u64,
    /// Whether the module is observed, and not confined, where it is native.
    #[serde(skip)]
    pub is_observed: bool,
    /// The call of an agent that the job is made for.
    #[serde(skip)]
    pub agent: Option<AgentCall>,
    /// Whether the changes of the run are made at once, shown or committed.
    pub effect: JobEffect,
    /// Make it a transaction whose result stays the module's own, if the module is confined: a person is asked for what it lacks, and
    /// what it did until then is dropped.
    #[serde(skip)]
    pub is_asked: bool,
    /// Save the changes of a preview, to be applied later.
    pub save: Option<JobSave>,
    /// In a preview, let the module use the network, sockets and devices.
    pub preview_net: bool,
    /// Write each step of a commit to the disk.
    pub durable: bool,
    /// Keep what a commit replaces, for `modbox undo`.
    pub keep_undo: bool,
    /// Accept changes of which a part could not be seen or simulated.
    pub incomplete_ok: bool,
    /// Write the module to the disk even when it could be piped into its interpreter.
    pub no_pipelining: bool,
}

impl JobOptions {
    /// Returns the options of a run in these modes, under the contract of a release.
    #[must_use]
    pub fn of_modes(modes: RunModes, release: Release) -> Self {
        let RunModes { check, diff, no_log, repeats_arguments, verbosity, open_files } = modes;
        let internal = CallerChoices { contract: release, ..CallerChoices::default() };
        Self { check, diff, no_log, repeats_arguments, verbosity, open_files, internal, ..Self::default() }
    }

    /// Returns the modes of the run.
    #[must_use]
    pub fn modes(&self) -> RunModes {
        let Self { check, diff, no_log, repeats_arguments, verbosity, open_files, .. } = *self;
        RunModes { check, diff, no_log, repeats_arguments, verbosity, open_files }
    }
}

/// Where the changes of a job's preview are saved.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`save` must be `true`, for the plan store, or the name of a new file")]
pub enum JobSave {
    /// In the plan store, if it is true.
    Store(bool),
    /// As a new file.
    File(PathBuf),
}

/// Whether the changes of a job are made at once, shown or committed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobEffect {
    /// The module changes the machine.
    #[default]
    Direct,
    /// The module runs on layers, and its changes are shown and discarded.
    Preview,
    /// The module runs on layers, and its changes are committed if it succeeds.
    Transaction,
}

/// Error in a line of a batch.
#[derive(Debug, Clone)]
pub struct JobError {
    /// The `id` of the line, if one can be read.
    pub id: Value,
    /// Why the line of the batch is not a job that can run, in words for people.
    pub message: String,
}

impl Job {
    /// Parses a line. The contract of `release` applies if the line names none.
    ///
    /// # Errors
    ///
    /// The text is not JSON, a key is unknown, or a value has the wrong type.
    pub fn parse(line: &[u8], release: Release) -> Result<Self, JobError> {
        let wrong = |id: Value| move |message: String| JobError { id, message };
        let text = str::from_utf8(line).map_err(|_| wrong(Value::Null)("it is not UTF-8".to_owned()))?;
        let value = decode(text).map_err(|error| wrong(Value::Null)(format!("it is not JSON: {error}")))?;
        let Value::Dict(mut entries) = value else {
            return Err(wrong(Value::Null)(format!("expected an object, not {}", value.type_name())));
        };
        // An id and arguments may hold any JSON value, so they are taken without conversion.
        let id = entries.shift_remove("id").unwrap_or(Value::Null);
        let module = match entries.shift_remove("module") {
            Some(Value::Str(module)) if !module.is_empty() => PathBuf::from(module),
            Some(_) => return Err(wrong(id)("`module` must be a path or a name".to_owned())),
            None => return Err(wrong(id)("it has no `module`".to_owned())),
        };
        let args = match entries.shift_remove("args") {
            Some(Value::Dict(args)) => args,
            None | Some(Value::Null) => Dict::new(),
            Some(other) => return Err(wrong(id)(format!("`args` must be an object, not {}", other.type_name()))),
        };
        if let Err(error) = args::check_not_reserved(&args) {
            return Err(wrong(id)(error.to_string()));
        }
        let choices = entries.get("internal").and_then(Value::as_dict);
        let names_contract = choices.is_some_and(|choices| choices.contains_key("contract"));
        let options: Result<JobOptions, _> =
            if entries.is_empty() { Ok(JobOptions::default()) } else { from_value(Value::Dict(entries)) };
        match options {
            Ok(mut options) => {
                if !names_contract {
                    options.internal.contract = release;
                }
                match options.internal.check() {
                    Ok(()) => Ok(Self { id, module, args, options }),
                    Err(error) => Err(wrong(id)(error.to_string())),
                }
            }
            Err(error) => Err(wrong(id)(error.to_string())),
        }
    }

    /// Returns the module's kind, if the line names one.
    ///
    /// # Errors
    ///
    /// The kind is unknown.
    pub fn kind(&self) -> Result<Option<Kind>, String> {
        self.options
            .kind
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|error: modbox_kinds::UnknownKind| error.to_string())
    }

    /// Returns the module's internal arguments.
    #[must_use]
    pub fn internal_args(&self, name: &str) -> InternalArgs {
        let defaults = self.options.internal.internal_args(name);
        InternalArgs {
            check_mode: self.options.check,
            diff: self.options.diff,
            verbosity: self.options.verbosity.into(),
            no_log: self.options.no_log || defaults.no_log,
            inject_invocation: self.options.repeats_arguments,
            ..defaults
        }
    }
}

#[cfg(test)]
mod tests {
    use modbox_policy::LimitName;

    use super::*;

    #[test]
    fn reads_a_whole_line() {
        let line = br#"{"id": [1, NaN], "module": "m/ping.wasm", "args": {"data": "x"}, "check": true,
            "policy": {"allow": {"read": ["/srv"]}}, "limits": {"timeout": "3s"},
            "internal": {"contract": "2.14", "no_target_syslog": true, "selinux_special_fs": ["a"]}}"#;
        let job = Job::parse(line, Release::V2_22).unwrap();
        let internal = job.internal_args("ping");
        assert_eq!((internal.release.as_str(), internal.no_log), ("2.14", true));
        assert_eq!(internal.selinux_special_fs, ["a"]);
        assert_eq!((&job.options.name, job.options.check), (&None, true));
        assert_eq!(job.options.policy.unwrap().allow.read[0].value, "/srv");
        assert_eq!(job.options.limits.unwrap().get(LimitName::Timeout), Some(3_000_000));
        assert!(job.args.contains_key("data"));
    }

    #[test]
    fn says_what_is_wrong_and_keeps_the_id() {
        for (line, id, expect) in [
            (&b"nonsense"[..], Value::Null, "not JSON"),
            (b"\xff", Value::Null, "not UTF-8"),
            (b"[]", Value::Null, "expected an object"),
            (br#"{"id": 7}"#, 7.into(), "no `module`"),
            (br#"{"id": 7, "module": 1}"#, 7.into(), "`module` must be"),
            (br#"{"id": 7, "module": "m", "args": []}"#, 7.into(), "`args` must be an object"),
            (br#"{"id": 7, "module": "m", "args": {"_ansible_x": 1}}"#, 7.into(), "_ansible_x"),
            (br#"{"id": 7, "module": "m", "cheque": true}"#, 7.into(), "cheque"),
            (br#"{"id": 7, "module": "m", "check": "yes"}"#, 7.into(), "check"),
            (br#"{"id": 7, "module": "m", "save": 1}"#, 7.into(), "`save` must be `true`"),
            (br#"{"id": 7, "module": "m", "internal": {"contract": "2.3"}}"#, 7.into(), "2.3"),
            (
                br#"{"id": 7, "module": "m", "internal": {"tracebacks_for": ["x"]}}"#,
                7.into(),
                "unknown traceback event",
            ),
            (br#"{"id": 7, "module": "m", "policy": {"allow": {"raed": []}}}"#, 7.into(), "raed"),
        ] {
            let error = Job::parse(line, Release::V2_21).unwrap_err();
            assert_eq!(error.id, id);
            assert!(error.message.contains(expect), "{}", error.message);
        }
    }
}
