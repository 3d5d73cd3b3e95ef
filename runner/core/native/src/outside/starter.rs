//! The process that starts commands outside: has the user's authority, no room and no filter, and does what the rules say.
//!
//! It gets the asks of one module from the launcher, and tells the host what it did. It has one thread, and waits for nothing but
//! its descriptors. Its children stay when it ends.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use modbox_channel::descriptor;
use modbox_vocabulary::{Denial, OutsideEnd};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::outside::answer::Answer;
use crate::outside::command;
use crate::outside::judge::{self, JudgedCommand, Refusal};
use crate::outside::messages::{Answered, Ask, OUTSIDE_MESSAGES, OutsideEvent, OutsideSpec};
use crate::outside::running::RunningCommand;

/// Maximum number of commands at a time.
const MAX_AT_ONCE: usize = 16;

/// Maximum number of asks in a run.
const MAX_ASKS: u64 = 10_000;

/// Maximum number of different denials and notes that the host is told.
const MAX_TOLD: usize = 64;

/// How long the commands may take that were asked to end when the module was gone.
const LEAVING: Duration = Duration::from_secs(30);

/// How long to wait for the end of the host, if a process that asked is gone: when modbox is killed, both go together, and its
/// commands go on.
const HOST_PATIENCE: Duration = Duration::from_millis(200);

/// Serves the asks of one module.
///
/// # Errors
///
/// The host does not follow the protocol.
pub fn serve(socket: UnixStream) -> io::Result<()> {
    let spec: OutsideSpec = OUTSIDE_MESSAGES.receive_required(&socket)?;
    let launcher = UnixStream::from(descriptor::receive(&socket)?);
    std::env::set_current_dir("/")?;
    let mut starter = Starter {
        spec,
        host: socket,
        launcher: Some(launcher),
        running: Vec::new(),
        asks: 0,
        denials: BTreeSet::new(),
        notes: BTreeSet::new(),
        leaves: None,
    };
    while starter.turn()? {}
    Ok(())
}

struct Starter {
    spec: OutsideSpec,
    host: UnixStream,
    /// `None` after the end of the launcher.
    launcher: Option<UnixStream>,
    running: Vec<RunningCommand>,
    asks: u64,
    denials: BTreeSet<Denial>,
    notes: BTreeSet<String>,
    /// When commands that still run are left to themselves.
    leaves: Option<Instant>,
}

/// What a wait has found.
struct Found {
    host_is_gone: bool,
    launcher: bool,
    /// Commands whose asker has ended.
    lost: Vec<usize>,
}

impl Starter {
    /// Waits for something to do, and does it. Returns `false` at the end.
    fn turn(&mut self) -> io::Result<bool> {
        if self.launcher.is_none() && self.running.is_empty() {
            return Ok(false);
        }
        let found = self.wait()?;
        if found.host_is_gone {
            return Ok(false);
        }
        if !found.lost.is_empty() && self.host_ends(HOST_PATIENCE) {
            return Ok(false);
        }
        found.lost.iter().for_each(|index| self.running[*index].lose_asker());
        self.running.iter_mut().for_each(RunningCommand::pass_time);
        self.reap()?;
        if found.launcher {
            self.receive()?;
        }
        if self.leaves.is_some_and(|leaves| Instant::now() >= leaves) {
            for command in std::mem::take(&mut self.running) {
                self.tell(&OutsideEvent::Ended(command.leave()))?;
            }
        }
        Ok(true)
    }

    fn wait(&self) -> io::Result<Found> {
        let next = self.running.iter().filter_map(RunningCommand::next).chain(self.leaves).min();
        let timeout = next.map(|next| next.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // The host sends nothing more, so its socket is readable when it is gone.
        let mut polled = vec![PollFd::new(&self.host, PollFlags::IN)];
        polled.extend(self.launcher.as_ref().map(|launcher| PollFd::new(launcher, PollFlags::IN)));
        let first = polled.len();
        polled.extend(self.running.iter().map(|command| PollFd::new(&command.process, PollFlags::IN)));
        let askers: Vec<usize> = (0..self.running.len()).filter(|index| self.running[*index].asker.is_some()).collect();
        let asker = |index: &usize| self.running[*index].asker.as_ref().map(|asker| PollFd::new(asker, PollFlags::IN));
        polled.extend(askers.iter().filter_map(asker));
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, timeout.as_ref()))?;
        let is_ready = |index: usize| polled.get(index).is_some_and(|polled| !polled.revents().is_empty());
        let lost = askers.iter().enumerate().filter(|(at, _)| is_ready(first + self.running.len() + at));
        Ok(Found {
            host_is_gone: is_ready(0),
            launcher: self.launcher.is_some() && is_ready(1),
            lost: lost.map(|(_, index)| *index).collect(),
        })
    }

    fn host_ends(&self, patience: Duration) -> bool {
        let timeout = Timespec::try_from(patience).ok();
        let mut polled = [PollFd::new(&self.host, PollFlags::IN)];
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, timeout.as_ref())).is_ok_and(|count| count > 0)
    }

    /// Receives an ask, or the end of the launcher.
    fn receive(&mut self) -> io::Result<()> {
        let Some(launcher) = &self.launcher else { return Ok(()) };
        let Ok(Some(ask)) = OUTSIDE_MESSAGES.receive::<Ask>(launcher) else {
            self.launcher = None;
            self.leaves = Instant::now().checked_add(LEAVING);
            return Ok(());
        };
        let (asker, root) = (descriptor::receive(launcher)?, descriptor::receive(launcher)?);
        let mut streams = [None, None, None];
        for (stream, _) in streams.iter_mut().zip(ask.streams).filter(|(_, follows)| *follows) {
            *stream = Some(descriptor::receive(launcher)?);
        }
        let id = ask.id;
        if let Err(refusal) = self.start(&ask, asker, &root, streams) {
            let answer = match refusal {
                Refusal::NotCovered(denial) => {
                    if self.denials.len() < MAX_TOLD && self.denials.insert(denial.clone()) {
                        self.tell(&OutsideEvent::Denied(denial))?;
                    }
                    Answer::Inside
                }
                Refusal::NotStarted { errno, note } => {
                    self.note(note)?;
                    Answer::not_started(errno)
                }
            };
            self.answer(id, answer);
        }
        Ok(())
    }

    fn start(
        &mut self,
        ask: &Ask,
        asker: OwnedFd,
        root: &OwnedFd,
        streams: [Option<OwnedFd>; 3],
    ) -> Result<(), Refusal> {
        self.asks += 1;
        if self.asks > MAX_ASKS {
            let note = format!("the module asked for more than {MAX_ASKS} commands outside; the rest was refused");
            return Err(Refusal::NotStarted { errno: Errno::DQUOT, note });
        }
        let judged = judge::judge(&self.spec, ask, self.asks, root.as_fd())?;
        // The words may have secrets.
        let shown = judged.program.display().to_string();
        let not_started = |errno: Errno, why: &str| {
            judge::remove(&judged.copies);
            Refusal::NotStarted { errno, note: format!("`{shown}` was not started outside: {why}") }
        };
        if self.running.len() >= MAX_AT_ONCE {
            return Err(not_started(Errno::AGAIN, &format!("{MAX_AT_ONCE} others run")));
        }
        let child = command::start(&self.spec, &judged, ask, streams);
        let child = child
            .map_err(|error| not_started(Errno::from_io_error(&error).unwrap_or(Errno::IO), &error.to_string()))?;
        self.keep(ask.id, child, asker, judged)
    }

    fn keep(&mut self, id: u64, child: Child, asker: OwnedFd, judged: JudgedCommand) -> Result<(), Refusal> {
        let (mut left, shown) = (judged.run.clone(), judged.program.display().to_string());
        match RunningCommand::new(id, child, asker, judged, self.spec.limit) {
            Ok(running) => {
                self.running.push(running);
                // Without the host, the next turn ends.
                let _ = self.tell(&OutsideEvent::Began);
                Ok(())
            }
            Err(error) => {
                left.end = OutsideEnd::Left;
                let _ = self.tell(&OutsideEvent::Ended(left));
                let note = format!("`{shown}` runs outside, and its end is not known: {error}");
                Err(Refusal::NotStarted { errno: Errno::IO, note })
            }
        }
    }

    /// Answers the processes whose commands have ended.
    fn reap(&mut self) -> io::Result<()> {
        let mut index = 0;
        while let Some(command) = self.running.get_mut(index) {
            match command.ended() {
                Some((answer, run)) => {
                    let id = command.id;
                    self.running.remove(index);
                    // First the host, so that the end of the module finds the report complete.
                    self.tell(&OutsideEvent::Ended(run))?;
                    self.answer(id, answer);
                }
                None => index += 1,
            }
        }
        Ok(())
    }

    fn note(&mut self, note: String) -> io::Result<()> {
        match self.notes.len() < MAX_TOLD && self.notes.insert(note.clone()) {
            true => self.tell(&OutsideEvent::Note(note)),
            false => Ok(()),
        }
    }

    fn tell(&self, event: &OutsideEvent) -> io::Result<()> {
        OUTSIDE_MESSAGES.send(&self.host, event)
    }

    fn answer(&self, id: u64, answer: Answer) {
        if let Some(launcher) = &self.launcher {
            // A launcher that is gone is found by the next turn.
            let _ = OUTSIDE_MESSAGES.send(launcher, &Answered { id, answer });
        }
    }
}
