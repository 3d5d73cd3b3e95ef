//! Commands, as `AnsibleModule.run_command` runs them, with ansible-core's rules for words, input and failures.
//!
//! A build for a Unix host starts commands directly. A component with the feature `host-commands` asks modbox to run
//! them, through the interface `modbox:host/process`: each command must be granted (`--allow-run 'systemctl restart
//! *'`), can use only the files and variables that the module was granted, and ends with the run. A component without
//! the feature has no commands, and each is an error that says so; see [`has_commands`].
//!
//! ```no_run
//! # use modbox_sdk::{Command, Exit, Failure, Module};
//! fn restart(unit: &str, module: &mut Module) -> Result<Exit, Failure> {
//!     if module.check_mode() {
//!         return Ok(Exit::changed());
//!     }
//!     let done = Command::new("systemctl").args(["restart", unit]).check_rc().run()?;
//!     Ok(Exit::changed().with("stdout", done.stdout()))
//! }
//! ```

mod words;

use std::path::{Path, PathBuf};
use std::time::Duration;

use modbox_argument_spec::expand_path;
use modbox_python_json::Value;

pub use self::words::{WrongWords, quote, split};
use crate::call::ProcessEnvironment;
use crate::platform::process::{self, Ending, NotRun, ProgramOutput, Request};
use crate::result::Failure;

/// ansible-core's `rc` for a command that did not start, if the system gave no error number.
const NOT_STARTED: i64 = 257;

/// Returns whether this build can run commands.
#[must_use]
pub fn has_commands() -> bool {
    process::AVAILABLE
}

/// A command to run.
#[derive(Debug, Clone, Default)]
pub struct Command {
    words: Vec<String>,
    environment: Vec<(String, String)>,
    path_prefix: Option<String>,
    directory: Option<PathBuf>,
    only_there: bool,
    data: Vec<u8>,
    binary_data: bool,
    umask: Option<u32>,
    timeout: Option<Duration>,
    literal: bool,
    check_rc: bool,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandResult {
    /// The exit status, or the negative number of the signal that ended it.
    pub rc: i64,
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: Vec<u8>,
    /// Whether the [time limit](Command::timeout) ended it. `rc` is then that of SIGKILL.
    pub timed_out: bool,
    /// Whether some of the output was dropped.
    pub cut: bool,
}

impl CommandResult {
    /// Returns the standard output as text for a result. Bytes that are not UTF-8 are kept as in Python
    /// (`surrogateescape`).
    #[must_use]
    pub fn stdout(&self) -> Value {
        Value::from_os_bytes(&self.stdout)
    }

    /// Returns the standard error as [`stdout`](Self::stdout) returns the output.
    #[must_use]
    pub fn stderr(&self) -> Value {
        Value::from_os_bytes(&self.stderr)
    }

    /// Returns the standard output, with `U+FFFD` for bytes that are not UTF-8.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Command {
    /// Creates a command from its program, which is a name to look up, or a path.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        Self { words: vec![program.into()], ..Self::default() }
    }

    /// Creates a command from one text, which is split into words as in a shell. No shell runs: `|`, `>` and `;` are
    /// ordinary words.
    ///
    /// # Errors
    ///
    /// A quote is not closed, or a backslash is the last character.
    pub fn parse(text: &str) -> Result<Self, WrongWords> {
        Ok(Self { words: split(text)?, ..Self::default() })
    }

    /// Creates a command that runs a text in `/bin/sh` (`use_unsafe_shell`). In a sandbox, `/bin/sh` must be granted.
    #[must_use]
    pub fn shell(text: impl Into<String>) -> Self {
        Self { words: vec!["/bin/sh".to_owned(), "-c".to_owned(), text.into()], literal: true, ..Self::default() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Returns the words as written.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Sets an environment variable (`environ_update`). In a sandbox, the variable must be granted, except for those of
    /// the language and the time zone.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Adds a directory to the start of the search path (`path_prefix`). In a sandbox this fails, since the policy
    /// looks up programs.
    #[must_use]
    pub fn path_prefix(mut self, directory: impl Into<String>) -> Self {
        self.path_prefix = Some(directory.into());
        self
    }

    /// Sets the working directory. A directory that does not exist is ignored.
    #[must_use]
    pub fn cwd(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Makes a missing working directory an error (`ignore_invalid_cwd=False`).
    #[must_use]
    pub fn cwd_must_exist(mut self) -> Self {
        self.only_there = true;
        self
    }

    /// Sets the standard input. A line end is added, except with [`binary_data`](Self::binary_data).
    #[must_use]
    pub fn data(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.data = data.into();
        self
    }

    /// Adds no line end to the standard input.
    #[must_use]
    pub fn binary_data(mut self) -> Self {
        self.binary_data = true;
        self
    }

    /// Sets the umask of the command.
    #[must_use]
    pub fn umask(mut self, umask: u32) -> Self {
        self.umask = Some(umask);
        self
    }

    /// Sets a time limit. The limits of the run hold as well.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Does not expand `~` and `$NAME` in the words (`expand_user_and_vars=False`).
    #[must_use]
    pub fn literal(mut self) -> Self {
        self.literal = true;
        self
    }

    /// Makes an exit status other than 0 a failure.
    #[must_use]
    pub fn check_rc(mut self) -> Self {
        self.check_rc = true;
        self
    }

    /// Runs the command and waits for its end. Variables and home directory in its words are the module's.
    ///
    /// # Errors
    ///
    /// The command cannot be started, is not granted or passed a limit of the run; with [`check_rc`](Self::check_rc),
    /// also a failed command. Each failure has ansible-core's message, `rc`, `cmd`, `stdout` and `stderr`.
    pub fn run(&self) -> Result<CommandResult, Failure> {
        let words: Vec<String> = match self.literal {
            true => self.words.clone(),
            false => self.words.iter().map(|word| expand_path(word, &ProcessEnvironment)).collect(),
        };
        let cmd = words::shown(&words);
        if words.is_empty() {
            return Err(not_started(cmd, NOT_STARTED, None));
        }
        let mut input = self.data.clone();
        if !self.binary_data && !input.is_empty() {
            input.push(b'\n');
        }
        let request = Request {
            words,
            environment: self.environment.clone(),
            path_prefix: self.path_prefix.clone(),
            directory: self.start_directory()?,
            input,
            // As in ansible-core, 0 means the umask of the module.
            umask: self.umask.filter(|umask| *umask != 0),
            timeout: self.timeout,
        };
        let ran = process::run(&request).map_err(|error| match error {
            NotRun::System(Some(number), _) => not_started(cmd.clone(), number.into(), None),
            NotRun::System(None, why) | NotRun::Policy(why) => not_started(cmd.clone(), NOT_STARTED, Some(&why)),
        })?;
        self.judge(ran, cmd)
    }

    fn start_directory(&self) -> Result<Option<PathBuf>, Failure> {
        let Some(directory) = &self.directory else { return Ok(None) };
        let written = expand_path(&directory.to_string_lossy(), &ProcessEnvironment);
        let path = match std::env::current_dir() {
            Ok(current) => current.join(&written),
            Err(_) => PathBuf::from(&written),
        };
        match (path.is_dir(), self.only_there) {
            (true, _) => Ok(Some(path)),
            (false, true) => Err(Failure::new(format!("Provided cwd is not a valid directory: {}", path.display()))),
            (false, false) => Ok(None),
        }
    }

    fn judge(&self, ran: ProgramOutput, cmd: String) -> Result<CommandResult, Failure> {
        /// The status that ansible-core reports for SIGKILL.
        const KILLED: i64 = -9;
        let (rc, timed_out) = match &ran.ending {
            Ending::Exited(status) => (*status, false),
            Ending::Signalled(signal) => (-*signal, false),
            Ending::TimedOut => (KILLED, true),
            Ending::Limit(limit) => {
                let message = format!("the command passed the run's limit of {limit} and was killed");
                return Err(failure(message, cmd, KILLED, &ran.stdout, &ran.stderr));
            }
        };
        if self.check_rc && rc != 0 {
            let message = String::from_utf8_lossy(&ran.stderr).trim_end().to_owned();
            return Err(failure(message, cmd, rc, &ran.stdout, &ran.stderr));
        }
        Ok(CommandResult { rc, stdout: ran.stdout, stderr: ran.stderr, timed_out, cut: ran.cut })
    }
}

fn not_started(cmd: String, rc: i64, why: Option<&str>) -> Failure {
    let message = match why {
        None => "Error executing command.".to_owned(),
        Some(why) => format!("Error executing command: {why}"),
    };
    failure(message, cmd, rc, b"", b"")
}

fn failure(message: String, cmd: String, rc: i64, stdout: &[u8], stderr: &[u8]) -> Failure {
    let failure = Failure::new(message).with("cmd", cmd).with("rc", rc);
    failure.with("stdout", Value::from_os_bytes(stdout)).with("stderr", Value::from_os_bytes(stderr))
}
