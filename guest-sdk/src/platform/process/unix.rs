//! A build for a Unix host, which starts programs like any other.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::platform::process::program::{Ending, NotRun, Ran, Request};

pub(crate) const AVAILABLE: bool = true;

/// What is kept of each output. A result holds it, and more than the largest result that Ansible takes is of no use.
const MAX_OUTPUT: usize = 64 << 20;

/// How long to wait for more output of a command that has ended, when a process that it left holds its output.
const QUIET: Duration = Duration::from_secs(1);

/// How often a command is looked at that says nothing and is to end in time.
const LOOK: Duration = Duration::from_millis(20);

/// Which output something is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

pub(crate) fn run(request: &Request) -> Result<Ran, NotRun> {
    let mut child = command(request)?.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = request.input.clone();
        // Whoever does not read its input is not waited for; what was not written is nobody's loss.
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
    let mut ran = Ran { ending: Ending::TimedOut, stdout: Vec::new(), stderr: Vec::new(), cut: false };
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
        // Only a process itself can change its mask, so a shell does it and becomes the program.
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
    // Without input it has this process's.
    command.stdin(if request.input.is_empty() { Stdio::inherit() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if request.timeout.is_some() {
        // To be ended with what it has started.
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

/// Takes what a command prints until it has ended and says no more. Returns how it ended, or nothing when its time was over.
fn collect(
    child: &mut Child,
    output: &Receiver<(Stream, Vec<u8>)>,
    deadline: Option<Instant>,
    ran: &mut Ran,
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
            // Nothing holds its output any more.
            Err(RecvTimeoutError::Disconnected) if deadline.is_none() => return child.wait().map(Some),
            Err(RecvTimeoutError::Disconnected) => {
                if let Some(status) = child.try_wait()? {
                    return Ok(Some(status));
                }
                thread::sleep(LOOK);
            }
            // Whoever holds its output is a daemon that it has left, and not waited for.
            Err(RecvTimeoutError::Timeout) if ended.is_some() => return Ok(ended),
            Err(RecvTimeoutError::Timeout) => ended = child.try_wait()?,
        }
    }
}

/// Ends a command and its process group.
fn end(child: &mut Child) -> io::Result<()> {
    // The number is still its own, since it was not waited for; without unsafe code there is no other way to a group.
    let group = format!("-{}", child.id());
    let killed = Command::new("/bin/kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    if !killed.is_ok_and(|status| status.success()) {
        child.kill()?;
    }
    child.wait().map(drop)
}
