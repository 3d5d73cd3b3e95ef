//! `AnsibleModule.run_command`: other programs, with ansible-core's rules for their words, their input and their failures.
//!
//! A build for a Unix host starts them like any other program. A component asks modbox for them, by its interface
//! `modbox:host/process`, when it was built with the feature `host-commands`: then a command has to be granted
//! (`--allow-run 'systemctl restart *'`), sees the files and variables that the module was granted, and ends with the run. Without the
//! feature there are no commands, and each is an error that says so; [`has_commands`] asks.
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
use crate::platform::process::{self, Ending, NotRun, Ran, Request};
use crate::result::Failure;

/// What ansible-core's `rc` is for a command that was not started, and the system has no number for why.
const NOT_STARTED: i64 = 257;

/// Returns whether there are commands here.
#[must_use]
pub fn has_commands() -> bool {
    process::AVAILABLE
}

/// A command in the making.
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

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandResult {
    /// Its exit status, or the number of the signal that ended it, below zero.
    pub rc: i64,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
    /// Its [time](Command::timeout) was over, and it was ended. `rc` is that of SIGKILL then.
    pub timed_out: bool,
    /// It printed more than is kept.
    pub cut: bool,
}

impl CommandResult {
    /// Returns what it printed, as text for a result: what is no UTF-8 is kept as Python keeps it (`surrogateescape`).
    #[must_use]
    pub fn stdout(&self) -> Value {
        Value::from_os_bytes(&self.stdout)
    }

    /// Returns what it complained about, as [`stdout`](Self::stdout).
    #[must_use]
    pub fn stderr(&self) -> Value {
        Value::from_os_bytes(&self.stderr)
    }

    /// Returns what it printed, with `U+FFFD` for what is no UTF-8.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Command {
    /// Begins a command with its program: a name that is looked for, or a path.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        Self { words: vec![program.into()], ..Self::default() }
    }

    /// Takes a whole command from one text, cut into words as a shell does. No shell is involved: `|`, `>` and `;` are
    /// words like others.
    ///
    /// # Errors
    ///
    /// Quotes that are not closed, a backslash at the end.
    pub fn parse(text: &str) -> Result<Self, WrongWords> {
        Ok(Self { words: split(text)?, ..Self::default() })
    }

    /// Has `/bin/sh` run a text (`use_unsafe_shell`). Where commands are granted, it is `/bin/sh` that has to be.
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

    /// Returns the words, as they are written.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Sets a variable for it (`environ_update`). In a sandbox it has to be granted, unless it is about the language or the
    /// time zone.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Has programs looked for in a directory first (`path_prefix`); not in a sandbox, where they are looked up by the policy.
    #[must_use]
    pub fn path_prefix(mut self, directory: impl Into<String>) -> Self {
        self.path_prefix = Some(directory.into());
        self
    }

    /// Starts it in a directory, if that is there.
    #[must_use]
    pub fn cwd(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Fails when the directory to start in is not there (`ignore_invalid_cwd=False`).
    #[must_use]
    pub fn cwd_must_exist(mut self) -> Self {
        self.only_there = true;
        self
    }

    /// Gives it something to read. A line end is added, unless it is [`binary_data`](Self::binary_data).
    #[must_use]
    pub fn data(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.data = data.into();
        self
    }

    /// Adds no line end to what it reads.
    #[must_use]
    pub fn binary_data(mut self) -> Self {
        self.binary_data = true;
        self
    }

    /// Keeps permissions from what it makes.
    #[must_use]
    pub fn umask(mut self, umask: u32) -> Self {
        self.umask = Some(umask);
        self
    }

    /// Ends it after a time. Whoever runs the module has a limit for all of it, anyway.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Leaves `~` and `$NAME` in its words as they are (`expand_user_and_vars=False`).
    #[must_use]
    pub fn literal(mut self) -> Self {
        self.literal = true;
        self
    }

    /// Fails when its exit status is not 0.
    #[must_use]
    pub fn check_rc(mut self) -> Self {
        self.check_rc = true;
        self
    }

    /// Runs it to its end. Variables and home in its words are those of the module.
    ///
    /// # Errors
    ///
    /// A command that cannot be started or is not granted, one that passed a limit of the run, and, with
    /// [`check_rc`](Self::check_rc), one that failed: each with ansible-core's message, `rc`, `cmd`, `stdout` and `stderr`.
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
            // As ansible-core: none is that of the module.
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

    fn judge(&self, ran: Ran, cmd: String) -> Result<CommandResult, Failure> {
        /// What the kernel ends it with, as ansible-core reports a signal.
        const KILLED: i64 = -9;
        let (rc, timed_out) = match &ran.ending {
            Ending::Exited(status) => (*status, false),
            Ending::Signalled(signal) => (-*signal, false),
            Ending::TimedOut => (KILLED, true),
            Ending::Limit(limit) => {
                let message = format!("the command passed the run's limit of {limit}, and was ended");
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
