//! Runs the modbox command as a user would, in a clean environment and with a time limit.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use modbox_vocabulary::DEFAULT_TIMEOUT;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};
use serde_json::Value;

use crate::{TestDir, modbox, stretched, temporary};

/// Default time limit of a command. It is longer than the default time limit of a run, so that modbox ends the run
/// first: its report says more than that modbox was killed. On a busy machine with a slow disk, Ansible's own modules
/// took over a minute.
const PATIENCE: Duration = DEFAULT_TIMEOUT.saturating_add(Duration::from_secs(30));

/// Time in which the output of a process ends after the process.
const DRAINED: Duration = Duration::from_secs(30);

/// Time between two looks at a state.
const POLL: Duration = Duration::from_millis(5);

/// Builder of a modbox command.
#[derive(Debug)]
pub struct Modbox {
    command: Command,
    stdin: Vec<u8>,
    patience: Duration,
}

/// A running modbox process.
#[derive(Debug)]
pub struct Running {
    shown: String,
    pid: Pid,
    pidfd: OwnedFd,
    started: Instant,
    ended: mpsc::Receiver<(ExitStatus, Duration)>,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
    patience: Duration,
}

/// A modbox process that has ended. If the test fails while this value exists, its output is printed.
#[derive(Debug)]
pub struct RunOutput {
    shown: String,
    /// The exit status.
    pub status: ExitStatus,
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: Vec<u8>,
    /// The wall-clock time from start to end.
    pub elapsed: Duration,
}

impl Modbox {
    /// Prepares the modbox binary in a test's directory. All tests share one cache of compiled code.
    pub fn new(dir: &TestDir) -> Self {
        Self::of(&modbox(), dir)
    }

    /// Prepares `modbox run`.
    pub fn run_module(dir: &TestDir, module: impl AsRef<OsStr>) -> Self {
        Self::new(dir).arg("run").arg(module)
    }

    /// Prepares another program with the same environment. Signals end it, also where the tests were started to ignore them, as
    /// by `nohup`: programs go on to ignore what those that started them ignored.
    pub fn of(program: &Path, dir: &TestDir) -> Self {
        let mut command = Command::new("/usr/bin/env");
        command
            .arg("--default-signal=HUP,INT,TERM")
            .arg(program)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", dir.join("home"))
            .env("TMPDIR", dir.join("tmp"))
            .env("XDG_CONFIG_HOME", dir.join("home/.config"))
            .env("XDG_CACHE_HOME", temporary().join("cache"))
            .current_dir(dir.path());
        Self { command, stdin: Vec::new(), patience: PATIENCE }
    }

    /// Gives the command a private cache in the test's directory, which is empty at first.
    pub fn own_cache(self, dir: &TestDir) -> Self {
        self.env("XDG_CACHE_HOME", dir.join("home/.cache"))
    }

    /// Passes on the variables for cargo and rustup, for commands that build.
    pub fn with_toolchain(mut self) -> Self {
        let home = PathBuf::from(std::env::var_os("HOME").expect("Rust's tools are found by way of HOME"));
        for (name, default) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            self.command.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(default).into()));
        }
        for name in ["PATH", "RUSTUP_TOOLCHAIN", "CARGO_NET_OFFLINE"] {
            if let Some(value) = std::env::var_os(name) {
                self.command.env(name, value);
            }
        }
        // The toolchain belongs to the user of this machine: rustup must not install or update one for a test.
        self.env("RUSTUP_AUTO_INSTALL", "0")
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Wraps the command in another program.
    pub fn behind(mut self, wrap: impl FnOnce(Command) -> Command) -> Self {
        self.command = wrap(self.command);
        self
    }

    /// Adds `--args` with a JSON object.
    pub fn json_args(self, args: &Value) -> Self {
        self.arg("--args").arg(args.to_string())
    }

    /// Adds `--output report`.
    pub fn report(self) -> Self {
        self.args(["--output", "report"])
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = stdin.into();
        self
    }

    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts the command.
    pub fn spawn(mut self) -> Running {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let shown = shown(&self.command);
        let started = Instant::now();
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("failed to start {shown}: {error}"));
        let mut stdin = child.stdin.take().unwrap();
        let input = self.stdin;
        thread::spawn(move || stdin.write_all(&input));
        let stdout = read_all(child.stdout.take().unwrap());
        let stderr = read_all(child.stderr.take().unwrap());
        let pid = Pid::from_child(&child);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("Linux has descriptors of processes");
        let ended = wait_in_background(child, started);
        Running { shown, pid, pidfd, started, ended, stdout, stderr, patience: self.patience }
    }

    /// Runs the command to its end.
    pub fn run(self) -> RunOutput {
        self.spawn().wait()
    }
}

impl Running {
    /// Sends a signal to the process, which must not have ended.
    pub fn signal(&self, signal: Signal) {
        assert!(self.signal_unless_ended(signal), "{} has ended before the signal", self.shown);
    }

    /// Sends a signal, unless the process has ended. Returns whether it was sent.
    pub fn signal_unless_ended(&self, signal: Signal) -> bool {
        // By descriptor, since another process may have the number of one that has ended.
        match rustix::process::pidfd_send_signal(&self.pidfd, signal) {
            Ok(()) => true,
            Err(Errno::SRCH) => false,
            Err(error) => panic!("failed to signal {}: {error}", self.shown),
        }
    }

    /// Returns whether the process has closed its standard output, as its end does.
    pub fn has_closed_stdout(&self) -> bool {
        self.stdout.is_finished()
    }

    /// Returns the process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits for the process to end. After the time limit, kills it and fails the test.
    pub fn wait(self) -> RunOutput {
        let mut ended = None;
        let has_ended = wait_for(self.patience, || {
            ended = self.ended.recv_timeout(POLL).ok();
            ended.is_some()
        });
        let Some((status, elapsed)) = ended.filter(|_| has_ended) else {
            self.signal_unless_ended(Signal::KILL);
            panic!("{} did not end within {:?}", self.shown, self.patience);
        };
        // If a pipe stays open, a process holds it that should have ended.
        let drained = wait_for(DRAINED, || self.stdout.is_finished() && self.stderr.is_finished());
        assert!(drained, "{} ended, but something still holds its output", self.shown);
        let (stdout, stderr) = (self.stdout.join().unwrap(), self.stderr.join().unwrap());
        RunOutput { shown: self.shown, status, stdout, stderr, elapsed }
    }
}

impl RunOutput {
    /// Asserts the exit status.
    #[track_caller]
    pub fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "exit status of {self}");
        self
    }

    /// Asserts that this signal ended the process.
    #[track_caller]
    pub fn dies_of(self, signal: Signal) -> Self {
        assert_eq!(self.status.signal(), Some(signal.as_raw()), "signal that ended {self}");
        self
    }

    /// Asserts that the process took at most this time; see [`stretched`].
    #[track_caller]
    pub fn within(self, time: Duration) -> Self {
        assert!(self.elapsed <= stretched(time), "{:?} is more than {time:?} for {self}", self.elapsed);
        self
    }

    /// Asserts that stderr contains this text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr_text().contains(text), "no `{text}` in the stderr of {self}");
        self
    }

    /// Parses stdout as one JSON object.
    #[track_caller]
    pub fn json(&self) -> Value {
        let parsed: Result<Value, _> = serde_json::from_slice(&self.stdout);
        match parsed {
            Ok(value @ Value::Object(_)) => value,
            _ => panic!("stdout holds no JSON object: {self}"),
        }
    }

    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl fmt::Display for RunOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned();
        let (stdout, stderr) = (head(&self.stdout), head(&self.stderr));
        write!(f, "{}\n{}\n--- stdout\n{stdout}\n--- stderr\n{stderr}", self.shown, self.status)
    }
}

impl Drop for RunOutput {
    #[expect(clippy::print_stderr, reason = "a failing test shows what it saw")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("ran: {self}");
        }
    }
}

/// Returns a command that starts another one as its last arguments, such as `setpriv` or a shell with `exec "$@"`. It has the
/// other one's environment and directory.
pub fn prefixed(mut prefix: Command, command: &Command) -> Command {
    prefix.arg(command.get_program()).args(command.get_args()).env_clear();
    prefix.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        prefix.current_dir(directory);
    }
    prefix
}

/// Waits until a condition holds or `patience` has passed, which is longer on a busy machine; see [`stretched`]. Returns
/// whether the condition holds.
pub fn wait_for(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    loop {
        if condition() {
            return true;
        }
        let waited = started.elapsed();
        if waited > patience && waited > stretched(patience) {
            return false;
        }
        thread::sleep(POLL);
    }
}

fn shown(command: &Command) -> String {
    let words: Vec<OsString> =
        [command.get_program()].into_iter().chain(command.get_args()).map(OsString::from).collect();
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn read_all(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

fn wait_in_background(mut child: Child, started: Instant) -> mpsc::Receiver<(ExitStatus, Duration)> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let status = child.wait().expect("a child can be waited for");
        let _ = send.send((status, started.elapsed()));
    });
    receive
}

/// Copies modbox's program, see [`copy_executable`].
pub fn copy_program(to: &Path) {
    copy_executable(&modbox(), to);
}

/// Copies a program with `/bin/cp`. If this process wrote the file, a process that another test starts at the same time
/// could inherit the open descriptor for a moment, and starting the program would fail ("Text file busy").
pub fn copy_executable(from: &Path, to: &Path) {
    let copied = Command::new("/bin/cp").arg(from).arg(to).status().unwrap();
    assert!(copied.success(), "{}", to.display());
}
