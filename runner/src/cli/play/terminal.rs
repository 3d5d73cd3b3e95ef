//! Questions to the person at the terminal: `vars_prompt`, `pause` and `--step`.

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use modbox_tasks::run::host::{Prompt, PromptError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Maximum bytes of an answer. A terminal gives lines of at most 4096 bytes.
const MAX_ANSWER: usize = 64 << 10;

/// Switches echo off while it lives.
struct WithoutEcho(Termios);

impl WithoutEcho {
    fn new() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &without).ok()?;
        Some(Self(before))
    }
}

impl Drop for WithoutEcho {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Asks a question and returns the answer without its line end. After the time of the question, the answer is empty.
///
/// # Errors
///
/// Standard input is not a terminal, or ends.
pub(crate) fn ask(prompt: &Prompt) -> Result<String, PromptError> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(PromptError::NotInteractive);
    }
    let mut stderr = io::stderr().lock();
    let shown = stderr.write_all(crate::cli::clean::clean(&prompt.text).as_bytes()).and_then(|()| stderr.flush());
    shown.map_err(|_| PromptError::NotInteractive)?;
    let echo = if prompt.private { WithoutEcho::new() } else { None };
    let answer = read_line(prompt.timeout);
    if echo.is_some() {
        // The person's line end was not shown.
        let _ = stderr.write_all(b"\n");
    }
    answer
}

/// Reads a line byte by byte, so that nothing of the next answer is taken.
fn read_line(timeout: Option<Duration>) -> Result<String, PromptError> {
    let (stdin, started) = (io::stdin(), Instant::now());
    let mut line = Vec::new();
    loop {
        let left = timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let ready = rustix::io::retry_on_intr(|| {
            poll(&mut [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)], left.as_ref())
        });
        match ready {
            Ok(0) => return Ok(String::new()),
            Ok(_) => {}
            Err(_) => return Err(PromptError::Interrupted),
        }
        let mut byte = [0];
        match stdin.lock().read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => return Ok(String::from_utf8_lossy(&line).into_owned()),
            Ok(1) if line.len() < MAX_ANSWER => line.push(byte[0]),
            Ok(1) => {}
            _ => return Err(PromptError::Interrupted),
        }
    }
}
