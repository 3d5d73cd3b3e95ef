//! The process of a helper, bounded in its time and its output. Only this file of the crate starts processes.
//!
//! A helper gets its own process group, which is killed as a whole when a bound is exceeded. A process that a helper
//! leaves behind when it ends, such as an agent, goes on.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, kill_process_group};

use super::error::{HelperError, MAX_OUTPUT};

/// Longest input: a pipe takes as much before anything reads from it.
const MAX_INPUT: usize = 4096;

/// Time between two looks at whether the process has ended. It may close its output before, or another process may have
/// it open afterwards.
const PAUSE: Duration = Duration::from_millis(5);

/// What a process leaves. Its output may be a secret.
pub(super) struct HelperOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// A process that is killed with its group unless it has ended.
struct HelperProcess {
    child: Child,
    status: Option<ExitStatus>,
}

/// A stream of a process.
struct Stream {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

/// Runs a helper to its end. `by_hand` is the command for messages.
pub(super) fn run(
    program: &Path,
    input: &str,
    patience: Duration,
    by_hand: &dyn Fn() -> String,
) -> Result<HelperOutput, HelperError> {
    let started = Instant::now();
    let mut process = HelperProcess::start(program, input).map_err(HelperError::Start)?;
    let mut stdout = Stream::new(process.child.stdout.take().map(OwnedFd::from)).map_err(HelperError::Output)?;
    let mut stderr = Stream::new(process.child.stderr.take().map(OwnedFd::from)).map_err(HelperError::Output)?;
    loop {
        // Looked at first: what it has printed before its end is then read below.
        let status = process.status().map_err(HelperError::Output)?;
        for stream in [&mut stdout, &mut stderr] {
            stream.read_available().map_err(HelperError::Output)?;
        }
        if stdout.bytes.len() + stderr.bytes.len() > MAX_OUTPUT {
            return Err(HelperError::TooLong(by_hand()));
        }
        if let Some(status) = status {
            return Ok(HelperOutput { status, stdout: stdout.bytes, stderr: stderr.bytes });
        }
        if started.elapsed() >= patience {
            return Err(HelperError::Late(patience.as_secs_f32(), by_hand()));
        }
        wait_for_any(&[&stdout, &stderr]).map_err(HelperError::Output)?;
    }
}

impl HelperProcess {
    fn start(program: &Path, input: &str) -> io::Result<Self> {
        if input.len() > MAX_INPUT {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of the host is too long"));
        }
        // Filled before anything can close it, so that no SIGPIPE comes.
        let (stdin, mut filled) = io::pipe()?;
        filled.write_all(input.as_bytes())?;
        #[expect(clippy::disallowed_methods, reason = "the user's own program keeps the user's credentials")]
        let mut command = Command::new(program);
        command.arg("get").stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Ok(Self { child: command.spawn()?, status: None })
    }

    /// Returns the status if the process has ended.
    fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        // After its end was seen, its id may be that of another process.
        if self.status.is_none() {
            // Either may be gone, or the process may have left its group.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Stream {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { pipe: pipe.map(File::from), bytes: Vec::new() })
    }

    /// Reads what is there, and closes the stream at its end. Stops when it is too much.
    fn read_available(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while let Some(pipe) = self.pipe.as_mut().filter(|_| self.bytes.len() <= MAX_OUTPUT) {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(length) => self.bytes.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Waits for output, or for the end of a pause.
fn wait_for_any(streams: &[&Stream]) -> io::Result<()> {
    let open = streams.iter().filter_map(|stream| stream.pipe.as_ref());
    let mut polled: Vec<_> = open.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
    let pause = Timespec::try_from(PAUSE).map_err(io::Error::other)?;
    match rustix::event::poll(&mut polled, Some(&pause)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
