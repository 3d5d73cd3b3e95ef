//! One line of a batch: which module, with which arguments, and how.

use std::path::PathBuf;

use modbox_contract::{Dict, InternalArgs, Told, Value, args};
use modbox_kinds::Kind;
use modbox_policy::{FileRules, LimitOverrides};
use modbox_python_json::{decode, from_value};
use serde::Deserialize;

/// A job, as its line gives it.
#[derive(Debug, Clone)]
pub struct Job {
    /// What its report is to be known by; `null` when the line gives none.
    pub id: Value,
    /// A module file, a guest crate's directory, or a name.
    pub module: PathBuf,
    /// The module's arguments.
    pub args: Dict,
    /// What else the line says.
    pub options: JobOptions,
}

/// What a line may say beside `id`, `module` and `args`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobOptions {
    /// The module's name, when it is not to be taken from `module`.
    pub name: Option<String>,
    /// Report what would change and change nothing.
    pub check: bool,
    /// Ask the module for differences.
    pub diff: bool,
    /// How talkative the module is to be.
    pub verbosity: u8,
    /// Tell the module to log nothing, and report nothing of its result but the status.
    pub no_log: bool,
    /// The kind that the module is to be taken for.
    pub kind: Option<String>,
    /// Give a wasm module its arguments on stdin, too.
    pub stdin_args: bool,
    /// Take the last line of stdout that is a JSON object as the result.
    pub last_json_line: bool,
    /// Rules for this job alone, beside those of the batch, in the form that a policy file has for one module.
    pub policy: Option<FileRules>,
    /// Limits of this job.
    pub limits: Option<LimitOverrides>,
    /// What the module is told beside its arguments, and by which contract.
    pub internal: Told,
    /// Put the module of a kind that could be piped into its interpreter on the disk.
    pub no_pipelining: bool,
}

/// Why a line is no job.
#[derive(Debug, Clone)]
pub struct JobError {
    /// The `id` of the line, if one can be read.
    pub id: Value,
    /// What is wrong.
    pub message: String,
}

impl Job {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// Text that is not JSON, unknown keys, values of another type.
    pub fn parse(line: &[u8]) -> Result<Self, JobError> {
        let wrong = |id: Value| move |message: String| JobError { id, message };
        let text = str::from_utf8(line).map_err(|_| wrong(Value::Null)("it is not UTF-8".to_owned()))?;
        let value = decode(text).map_err(|error| wrong(Value::Null)(format!("it is not JSON: {error}")))?;
        let Value::Dict(mut entries) = value else {
            return Err(wrong(Value::Null)(format!("it is no object, but {}", value.type_name())));
        };
        // Taken as they are: everything that JSON can say may stand in an id and in arguments.
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
        let options: Result<JobOptions, _> =
            if entries.is_empty() { Ok(JobOptions::default()) } else { from_value(Value::Dict(entries)) };
        match options {
            Ok(options) => match options.internal.check() {
                Ok(()) => Ok(Self { id, module, args, options }),
                Err(error) => Err(wrong(id)(error.to_string())),
            },
            Err(error) => Err(wrong(id)(error.to_string())),
        }
    }

    /// Returns the module's name: the one that is given, or the file's without folder and extension.
    #[must_use]
    pub fn name(&self) -> String {
        let stem = || self.module.file_stem().unwrap_or(self.module.as_os_str()).to_string_lossy().into_owned();
        self.options.name.clone().unwrap_or_else(stem)
    }

    /// Returns the kind that the module is to be taken for.
    ///
    /// # Errors
    ///
    /// A word that is no kind.
    pub fn kind(&self) -> Result<Option<Kind>, String> {
        self.options
            .kind
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|error: modbox_kinds::UnknownKind| error.to_string())
    }

    /// Returns what the module is told beside its arguments.
    #[must_use]
    pub fn internal_args(&self, name: &str) -> InternalArgs {
        let told = self.options.internal.internal_args(name);
        InternalArgs {
            check_mode: self.options.check,
            diff: self.options.diff,
            verbosity: self.options.verbosity.into(),
            no_log: self.options.no_log || told.no_log,
            ..told
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
        let job = Job::parse(line).unwrap();
        let internal = job.internal_args("ping");
        assert_eq!((internal.release.as_str(), internal.no_log), ("2.14", true));
        assert_eq!(internal.selinux_special_fs, ["a"]);
        assert_eq!((job.name().as_str(), job.options.check), ("ping", true));
        assert_eq!(job.options.policy.unwrap().allow.read[0].value, "/srv");
        assert_eq!(job.options.limits.unwrap().get(LimitName::Timeout), Some(3_000_000));
        assert!(job.args.contains_key("data"));
    }

    #[test]
    fn says_what_is_wrong_and_keeps_the_id() {
        for (line, id, expect) in [
            (&b"nonsense"[..], Value::Null, "not JSON"),
            (b"\xff", Value::Null, "not UTF-8"),
            (b"[]", Value::Null, "no object"),
            (br#"{"id": 7}"#, 7.into(), "no `module`"),
            (br#"{"id": 7, "module": 1}"#, 7.into(), "`module` must be"),
            (br#"{"id": 7, "module": "m", "args": []}"#, 7.into(), "`args` must be an object"),
            (br#"{"id": 7, "module": "m", "args": {"_ansible_x": 1}}"#, 7.into(), "_ansible_x"),
            (br#"{"id": 7, "module": "m", "cheque": true}"#, 7.into(), "cheque"),
            (br#"{"id": 7, "module": "m", "check": "yes"}"#, 7.into(), "check"),
            (br#"{"id": 7, "module": "m", "internal": {"contract": "2.3"}}"#, 7.into(), "2.3"),
            (br#"{"id": 7, "module": "m", "internal": {"tracebacks_for": ["x"]}}"#, 7.into(), "no event"),
            (br#"{"id": 7, "module": "m", "policy": {"allow": {"raed": []}}}"#, 7.into(), "raed"),
        ] {
            let error = Job::parse(line).unwrap_err();
            assert_eq!(error.id, id);
            assert!(error.message.contains(expect), "{}", error.message);
        }
    }
}
