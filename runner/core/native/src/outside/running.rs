//! A command outside that runs: when it is asked to end, when it is killed, and what is said of its end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use modbox_vocabulary::time::micros;
use modbox_vocabulary::{OutsideEnd, OutsideRun};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::outside::answer::Answer;
use crate::outside::judge::{self, JudgedCommand};

/// How long a command that passed its limit may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct RunningCommand {
    /// Number of the report.
    pub(crate) id: u64,
    child: Child,
    /// Readable when the command has ended.
    pub(crate) process: OwnedFd,
    /// Readable when the process that asked has ended; `None` after that.
    pub(crate) asker: Option<OwnedFd>,
    began: Instant,
    /// When it is asked to end, and then when it is killed.
    next: Option<Instant>,
    has_passed_limit: bool,
    copies: Vec<PathBuf>,
    run: OutsideRun,
}

impl RunningCommand {
    /// Takes over a command that has started.
    ///
    /// # Errors
    ///
    /// The kernel gives no descriptor for its process. The command goes on.
    pub(crate) fn new(
        id: u64,
        child: Child,
        asker: OwnedFd,
        command: JudgedCommand,
        limit: Duration,
    ) -> io::Result<Self> {
        let process = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let began = Instant::now();
        Ok(Self {
            id,
            child,
            process,
            asker: Some(asker),
            began,
            next: began.checked_add(limit),
            has_passed_limit: false,
            copies: command.copies,
            run: command.run,
        })
    }

    /// Returns when [`Self::pass_time`] has to be called.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Asks a command that has passed its limit to end, and kills it if it does not.
    pub(crate) fn pass_time(&mut self) {
        if self.next.is_none_or(|next| Instant::now() < next) {
            return;
        }
        self.next = match self.has_passed_limit {
            false => {
                self.signal(Signal::TERM);
                Instant::now().checked_add(PATIENCE)
            }
            true => {
                self.signal(Signal::KILL);
                None
            }
        };
        self.has_passed_limit = true;
    }

    /// Asks the command to end, since the process that asked for it is gone.
    pub(crate) fn lose_asker(&mut self) {
        self.asker = None;
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        // It fails only if the command has ended.
        let _ = rustix::process::pidfd_send_signal(self.process.as_fd(), signal);
    }

    /// Returns the answer and what reports say, if the command has ended.
    pub(crate) fn ended(&mut self) -> Option<(Answer, OutsideRun)> {
        let status = match self.child.try_wait() {
            Ok(status) => status?,
            // The process is not a child any more, which cannot be; its status is not known then.
            Err(_) => ExitStatus::from_raw(libc::SIGKILL),
        };
        let part = |number: i32| u8::try_from(number & 0xff).unwrap_or_default();
        let (answer, end) = match (status.code(), status.signal()) {
            (Some(code), _) => (Answer::Exit(part(code)), OutsideEnd::Exit(code)),
            (None, signal) => {
                let signal = signal.unwrap_or(libc::SIGKILL);
                (Answer::Signal(part(signal)), OutsideEnd::Signal(signal))
            }
        };
        Some((answer, self.told(if self.has_passed_limit { OutsideEnd::Limit } else { end })))
    }

    /// Leaves the command to itself, and returns what reports say.
    pub(crate) fn leave(mut self) -> OutsideRun {
        self.told(OutsideEnd::Left)
    }

    fn told(&mut self, end: OutsideEnd) -> OutsideRun {
        judge::remove(&std::mem::take(&mut self.copies));
        OutsideRun { end, wall_us: micros(self.began.elapsed()), ..self.run.clone() }
    }
}
