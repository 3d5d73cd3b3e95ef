//! What lookups that act may do on this machine: read the play's tree, variables of the environment, run commands, and
//! write password files. The policy decides.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt};
use modbox_contract::{Dict, Value};
use modbox_jinja::SecretKeeper as _;
use modbox_jinja::values::Moment;
use modbox_kinds::Kind;
use modbox_policy::{Access, Policy, Shape, normalize, path_option};
use modbox_run::{Arguments, Module, ModuleFile, RunRequest, Runner, Scrutiny};
use modbox_tasks::files::SharedFiles;
use modbox_tasks::lookups::host::{CommandOutput, LookupFailure, LookupHost, ShellCommand};
use modbox_vocabulary::Limits;
use modbox_vocabulary::quoting::quote;

use crate::cli::play::ansible_settings::AnsibleSettings;
use crate::cli::play::clock;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::play_secrets::PlaySecrets;
use crate::cli::printing::output;
use crate::cli::process::environment::Environment;

/// Variables that a play may always read.
const FREE_VARIABLES: [&str; 4] = ["HOME", "USER", "LANG", "PATH"];

/// First line of what a command of a lookup prints. It begins an object that is not JSON, so that no output is taken for the
/// result of a module: the lookup wants the text.
const NO_RESULT: &str = "{]";

/// Maximum bytes of the name of the machine; Linux has at most 64.
const MAX_HOST_NAME: u64 = 1024;

/// The host of lookups.
pub(crate) struct PlayLookups {
    pub(crate) environment: Environment,
    pub(crate) tree: Arc<PlayTree>,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    pub(crate) runner: Arc<Runner>,
    /// Keeps secrets that lookups make; `None` for releases in which they make none.
    pub(crate) secrets: Option<PlaySecrets>,
    pub(crate) settings: Arc<AnsibleSettings>,
    /// Whether the play is explained, so that nothing may run or be written.
    pub(crate) explains: bool,
    /// Whether the play is to be learned, so that what it lacks is noted and not denied.
    pub(crate) learns: bool,
}

impl PlayLookups {
    fn denied(&self, action: String, switch: String) -> LookupFailure {
        self.tree.needs().add(&action, &switch);
        LookupFailure::Denied { action, switch }
    }

    /// Fails where a lookup would do something while the play is only explained.
    fn check_acts(&self) -> Result<(), LookupFailure> {
        if self.explains {
            return Err(LookupFailure::Failed("it does not run while a play is explained".to_owned()));
        }
        Ok(())
    }

    fn process_variable(&self, name: &str) -> Option<String> {
        self.environment.variable(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// Opens the innermost folder that is granted for writing around a path. Returns it and the rest of the path.
    fn writable(&self, path: &str) -> Result<(Dir, PathBuf), LookupFailure> {
        let whole = normalize(Path::new(path));
        let grants = self.policy.paths().iter().filter(|grant| grant.access == Access::Write);
        let around = grants.filter(|grant| match grant.shape {
            Shape::Directory => whole.starts_with(&grant.host),
            Shape::Name => whole == grant.host,
        });
        let grant = around.max_by_key(|grant| grant.host.as_os_str().len());
        let switch = || path_option(Access::Write, Path::new(path));
        let folder = match grant {
            Some(grant) if grant.shape == Shape::Directory => grant.host.clone(),
            Some(grant) => grant.host.parent().unwrap_or_else(|| Path::new("/")).to_owned(),
            None => {
                let denied = self.denied(format!("write `{path}`"), switch());
                if !self.learns {
                    return Err(denied);
                }
                PathBuf::from("/")
            }
        };
        let failed =
            |error: std::io::Error| LookupFailure::Failed(format!("failed to open `{}`: {error}", folder.display()));
        let dir = Dir::open_ambient_dir(&folder, ambient_authority()).map_err(failed)?;
        let rest = whole.strip_prefix(&folder).unwrap_or_else(|_| Path::new("")).to_owned();
        Ok((dir, rest))
    }
}

impl LookupHost for PlayLookups {
    fn files(&self) -> SharedFiles {
        Arc::clone(&self.tree) as SharedFiles
    }

    fn variable(&self, name: &str) -> Result<Option<String>, LookupFailure> {
        if let Some(grant) = self.policy.env().iter().find(|grant| grant.name == name) {
            return Ok(Some(grant.value.clone()));
        }
        let value = self.process_variable(name);
        // An explained play is run later, when the variable may be set.
        let is_unset = value.is_none() && !self.explains;
        if is_unset || FREE_VARIABLES.contains(&name) || self.policy.allows_everything() {
            return Ok(value);
        }
        let denied = self.denied(format!("read the variable `{name}`"), format!("--allow-env {}", quote(name)));
        if self.learns { Ok(value) } else { Err(denied) }
    }

    /// Runs the command as a script under the policy of the play, in a sandbox of its own.
    fn run_command(&self, command: &ShellCommand<'_>) -> Result<CommandOutput, LookupFailure> {
        let program = command.line.split_whitespace().next().unwrap_or_default();
        if self.policy.run().is_empty() && !self.policy.allows_everything() {
            let switch = format!("--allow-run {}", quote(program));
            let denied = self.denied(format!("run `{}`", command.line), switch);
            if !self.learns {
                return Err(denied);
            }
        }
        self.check_acts()?;
        let folder = quote(command.folder);
        // The folder of the play is not visible to a confined command unless it is granted.
        let script = format!("#!/bin/sh\necho '{NO_RESULT}'\ncd {folder} 2>/dev/null\n{}\n", command.line);
        let file = ModuleFile { path: PathBuf::from("pipe"), bytes: script.into_bytes().into() };
        let module = Module::new(file, Some(Kind::OldStyle));
        let scrutiny = if self.learns { Scrutiny::Observed } else { Scrutiny::default() };
        let arguments = Arguments::Complete(Dict::new());
        let request = RunRequest { scrutiny, ..RunRequest::new("pipe", arguments, &self.policy, &self.limits) };
        let report = self.runner.run(&module, &request);
        if let Some(error) = &report.error {
            return Err(LookupFailure::Failed(modbox_vocabulary::error_chain(error)));
        }
        let result = report.result.as_dict();
        let text = |key: &str| result.get(key).and_then(Value::as_str);
        let stdout = text("module_stdout").and_then(|stdout| stdout.strip_prefix(NO_RESULT)?.strip_prefix('\n'));
        let (Some(stdout), Some(Value::Int(status))) = (stdout, result.get("rc")) else {
            return Err(LookupFailure::Failed(text("msg").unwrap_or("the command did not start").to_owned()));
        };
        let status = i32::try_from(*status).unwrap_or(i32::MAX);
        if let (true, Some(advice)) = (status != 0, report.advice().first()) {
            return Err(LookupFailure::Failed(advice.clone()));
        }
        Ok(CommandOutput { status, stdout: stdout.as_bytes().to_vec() })
    }

    fn write_file(&self, path: &str, content: &[u8], mode: u32) -> Result<(), LookupFailure> {
        let (dir, rest) = self.writable(path)?;
        self.check_acts()?;
        let written = || -> std::io::Result<()> {
            if let Some(parent) = rest.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(0o700);
                dir.create_dir_with(parent, &builder)?;
            }
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(mode);
            dir.open_with(&rest, &options)?.write_all(content)
        };
        written().map_err(|error| LookupFailure::Failed(format!("failed to write `{path}`: {error}")))
    }

    fn random(&self) -> Result<u64, LookupFailure> {
        let mut bytes = [0; 8];
        let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        filled.map_err(|error| LookupFailure::Failed(error.to_string()))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn local_time(&self, time: Duration) -> Option<Moment> {
        clock::local_moment(time)
    }

    fn setting(&self, name: &str) -> Option<(Value, String)> {
        self.settings.get(name)
    }

    fn host_name(&self) -> String {
        host_name()
    }

    fn register_secret(&self, secret: &str) {
        if let Some(secrets) = self.secrets {
            secrets.register(secret);
        }
    }

    fn warn(&self, text: &str) {
        output::print_note(text);
    }
}

/// Returns the name of the machine.
pub(crate) fn host_name() -> String {
    let read = modbox_files::read_file(Path::new("/proc/sys/kernel/hostname"), MAX_HOST_NAME);
    String::from_utf8_lossy(&read.unwrap_or_default()).trim().to_owned()
}
