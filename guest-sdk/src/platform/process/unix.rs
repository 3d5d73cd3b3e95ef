//! Programs for a build for a Unix host.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::platform::process::program::{Ending, NotRun, ProgramOutput, Request};

pub(crate) const AVAILABLE: bool = true;

/// The most bytes kept of each output. Output is part of the result, and Ansible takes no larger one.
const MAX_OUTPUT: usize = 64 << 20;

/// How long to wait for output after a command ended, if a process that it started holds its output open.
const QUIET: Duration = Duration::from_secs(1);

/// How often a silent command with a time limit is checked.
const LOOK: Duration = Duration::from_millis(20);

/// The stream of a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

pub(crate) fn run(request: &Request) -> Result<ProgramOutput, NotRun> {
    let mut child = command(request)?.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = request.input.clone();
        // The thread is not joined: a command need not read its input.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        read(stdout, Stream::Out, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        read(stderr, Stream::Err, sender);
    }
    let deadline = request.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut ran = ProgramOutput { ending: Ending::TimedOut, stdout: Vec::new(), stderr: Vec::new(), cut: false };
    if let Some(status) = collect(&mut child, &receiver, deadline, &mut ran)? {
        let code = status.code().map(|code| Ending::Exited(code.into()));
        let signal = status.signal().map(|signal| Ending::Signalled(signal.into()));
        ran.ending = code.or(signal).unwrap_or(Ending::Exited(1));
    }
    Ok(ran)
}

fn command(request: &Request) -> Result<Command, NotRun> {
    let nothing = || NotRun::from(io::Error::from(io::ErrorKind::NotFound));
    let (program, arguments) = request.words.split_first().ok_or_else(nothing)?;
    let mut command = match request.umask {
        None => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        // A process can change only its own umask, so a shell does it and becomes the program.
        Some(umask) => {
            let mut command = Command::new("/bin/sh");
            let script = format!("umask {:o} && exec \"$0\" \"$@\"", umask & 0o777);
            command.arg("-c").arg(script).arg(program).args(arguments);
            command
        }
    };
    command.envs(request.environment.iter().map(|(name, value)| (name, value)));
    if let Some(prefix) = &request.path_prefix {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", if path.is_empty() { prefix.clone() } else { format!("{prefix}:{path}") });
    }
    if let Some(directory) = &request.directory {
        command.current_dir(directory);
    }
    // Without input, the command inherits this process's standard input.
    command.stdin(if request.input.is_empty() { Stdio::inherit() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if request.timeout.is_some() {
        // The group is killed as a whole.
        command.process_group(0);
    }
    Ok(command)
}

fn read(mut from: impl Read + Send + 'static, stream: Stream, to: Sender<(Stream, Vec<u8>)>) {
    thread::spawn(move || {
        let mut chunk = vec![0; 64 << 10];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => return,
                Ok(length) if to.send((stream, chunk[..length].to_vec())).is_err() => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
}

/// Collects output until the command has ended and its output is silent. Returns its end, or `None` when the time limit
/// passed.
fn collect(
    child: &mut Child,
    output: &Receiver<(Stream, Vec<u8>)>,
    deadline: Option<Instant>,
    ran: &mut ProgramOutput,
) -> io::Result<Option<ExitStatus>> {
    let mut ended = None;
    loop {
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late && ended.is_none() {
            end(child)?;
            return Ok(None);
        }
        match output.recv_timeout(if deadline.is_some() && ended.is_none() { LOOK } else { QUIET }) {
            Ok((stream, bytes)) => {
                let kept = if stream == Stream::Out { &mut ran.stdout } else { &mut ran.stderr };
                let room = MAX_OUTPUT.saturating_sub(kept.len()).min(bytes.len());
                ran.cut |= room < bytes.len();
                kept.extend_from_slice(&bytes[..room]);
            }
            // All holders of the output have ended.
            Err(RecvTimeoutError::Disconnected) if deadline.is_none() => return child.wait().map(Some),
            Err(RecvTimeoutError::Disconnected) => {
                if let Some(status) = child.try_wait()? {
                    return Ok(Some(status));
                }
                thread::sleep(LOOK);
            }
            // A daemon of the command holds its output; it is not waited for.
            Err(RecvTimeoutError::Timeout) if ended.is_some() => return Ok(ended),
            Err(RecvTimeoutError::Timeout) => ended = child.try_wait()?,
        }
    }
}

/// Kills a command and its process group.
fn end(child: &mut Child) -> io::Result<()> {
    // The process id is still valid, since it was not waited for. Without unsafe code, there is no other way to signal
    // a group.
    let group = format!("-{}", child.id());
    let killed = Command::new("/bin/kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    if !killed.is_ok_and(|status| status.success()) {
        child.kill()?;
    }
    child.wait().map(drop)
}
