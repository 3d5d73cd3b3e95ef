//! Commands outside of a guest in WebAssembly: passes them to a starter, which judges and runs them as those of native modules, and
//! stands between their streams and the guest.
//!
//! The host is the starter's launcher here. A guest has no process whose descriptors could be passed on, so the host makes pipes, and
//! keeps of their output as much as the run's limit says. The guest waits meanwhile. The process that asks is the host's end of a
//! pipe: when the host closes it, the starter asks the command to end, and does not kill it.

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use modbox_channel::descriptor;
use modbox_cleanup::Cleanup;
use modbox_policy::{PathGrant, Policy};
use modbox_vocabulary::{CapturedOutput, CommandEnd};
use modbox_worker::Workers;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::error::NativeError;
use crate::host::attend::DRAIN_PATIENCE;
use crate::host::outside_commands::{self, OutsideCommands, OutsideRecord};
use crate::host::stream::{CHUNK, Stream};
use crate::outside::answer::Answer;
use crate::outside::asks;
use crate::outside::messages::{Answered, Ask, MAX_VARIABLES, MAX_WORDS, OUTSIDE_MESSAGES};
use crate::outside::operand_files::OperandFiles;
use crate::outside::stub::{self, LANGUAGE_VARIABLES};
use crate::rooms::room::OutsideRequest;

/// A command that a guest asks for.
#[derive(Debug)]
pub struct GuestCommand<'a> {
    /// Path of the program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Variables. Those of language and time zone count.
    pub variables: &'a [(String, String)],
    /// The permission bits that new files do not get.
    pub umask: u32,
    /// Standard input.
    pub stdin: &'a [u8],
    /// The directory that the guest sees as `/tmp`, opened for paths.
    pub temporary: OwnedFd,
    /// How long the guest waits. The command is then asked to end.
    pub patience: Option<Duration>,
    /// Bytes of each output that are kept.
    pub max_output: u64,
    /// Hangs up when the guest is gone. The command is then asked to end.
    pub guest: Option<BorrowedFd<'a>>,
}

/// The answer to a command that a guest asked for.
#[derive(Debug)]
pub enum GuestAnswer {
    /// It ran outside, or was not started although a rule covers it: then it ends as a stub of a room does, with the reason on
    /// standard error.
    Ended {
        /// How it ended.
        end: CommandEnd,
        /// Standard output.
        stdout: CapturedOutput,
        /// Standard error.
        stderr: CapturedOutput,
        /// How long it took.
        took: Duration,
    },
    /// No rule covers it.
    NotCovered,
}

/// The commands outside of one guest.
#[derive(Debug)]
pub struct GuestOutside {
    commands: OutsideCommands,
    /// Channel for asks; `None` when the starter is gone.
    channel: Option<UnixStream>,
    /// Number of the last command.
    last: u64,
    cleanup: Cleanup,
}

impl GuestOutside {
    /// Starts a starter for the commands of a guest with this policy. `own` is the guest's directory on the machine.
    ///
    /// # Errors
    ///
    /// The starter does not start.
    pub fn start(
        workers: &Workers,
        policy: &Policy,
        seen: &[PathGrant],
        request: &OutsideRequest,
        own: &Path,
        cleanup: &Cleanup,
    ) -> Result<Self, NativeError> {
        let grants = (policy.outside(), outside_commands::written(policy, own));
        let files = OperandFiles::Guest(seen.to_vec());
        let spec = outside_commands::spec(grants, policy.user(), request, files);
        let (commands, channel) = OutsideCommands::instruct(workers, &spec)?;
        asks::bound(&channel).map_err(NativeError::StartOutside)?;
        Ok(Self { commands, channel: Some(channel), last: 0, cleanup: cleanup.clone() })
    }

    /// Runs a command, if a rule covers it, and waits for its end.
    ///
    /// # Errors
    ///
    /// The kernel gives no pipes, or cannot wait. A command that has started goes on.
    pub fn run(&mut self, command: GuestCommand<'_>) -> io::Result<GuestAnswer> {
        let began = Instant::now();
        self.last += 1;
        let Some(ask) = ask(self.last, &command) else {
            return Ok(not_started(command.program, Errno::TOOBIG));
        };
        let (mut attended, theirs) = Attended::new(&command)?;
        let hold = Hold::new(&self.cleanup)?;
        if self.send(&ask, &hold, command.temporary, theirs).is_err() {
            self.channel = None;
        }
        let deadline = command.patience.and_then(|patience| began.checked_add(patience));
        let answer = self.attend(&mut attended, &hold, command.guest, deadline)?;
        drop(hold);
        let end = match answer {
            Some(Answer::Inside) => return Ok(GuestAnswer::NotCovered),
            Some(Answer::NotStarted(errno)) => {
                return Ok(not_started(command.program, Errno::from_raw_os_error(errno)));
            }
            Some(Answer::Exit(status)) => CommandEnd::Exited(status.into()),
            Some(Answer::Signal(signal)) => CommandEnd::Signalled(signal.into()),
            None => CommandEnd::TimedOut,
        };
        // What still runs keeps its streams.
        if answer.is_some() {
            attended.drain()?;
        }
        let (stdout, stderr) = (attended.stdout.captured, attended.stderr.captured);
        Ok(GuestAnswer::Ended { end, stdout, stderr, took: began.elapsed() })
    }

    /// Ends the starter, and returns what is known of the commands. Those that still run are asked to end, and left to themselves
    /// if they do not.
    #[must_use]
    pub fn finish(self) -> OutsideRecord {
        drop(self.channel);
        self.commands.finish()
    }

    fn send(&self, ask: &Ask, hold: &Hold, temporary: OwnedFd, theirs: TheirStreams) -> io::Result<()> {
        let channel = self.channel.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        OUTSIDE_MESSAGES.send(channel, ask)?;
        descriptor::send(channel, &hold.reader)?;
        descriptor::send(channel, temporary)?;
        if let Some(stdin) = theirs.stdin {
            descriptor::send(channel, stdin)?;
        }
        descriptor::send(channel, theirs.stdout)?;
        descriptor::send(channel, theirs.stderr)
    }

    /// Attends a command until it is answered. Returns `None` when the guest waits no longer.
    fn attend(
        &mut self,
        attended: &mut Attended<'_>,
        hold: &Hold,
        guest: Option<BorrowedFd<'_>>,
        deadline: Option<Instant>,
    ) -> io::Result<Option<Answer>> {
        loop {
            let Some(channel) = &self.channel else {
                return Ok(Some(Answer::not_started(Errno::PIPE)));
            };
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
            let mut polled = vec![PollFd::new(channel, PollFlags::IN), PollFd::new(&hold.reader, PollFlags::empty())];
            polled.extend(guest.map(|guest| PollFd::from_borrowed_fd(guest, PollFlags::empty())));
            let ends = polled.len();
            polled.extend(self.commands.channel().map(|events| PollFd::new(events, PollFlags::IN)));
            let streams = polled.len();
            polled.extend(attended.polled());
            poll(&mut polled, deadline)?;
            let ready = |index: usize| polled.get(index).is_some_and(|polled| !polled.revents().is_empty());
            let (answered, is_gone) = (ready(0), (1..ends).any(ready));
            let is_told = (ends..streams).any(ready);
            attended.exchange()?;
            if is_told {
                self.commands.receive();
            }
            if is_gone {
                return Ok(None);
            }
            if answered {
                match OUTSIDE_MESSAGES.receive_required::<Answered>(channel) {
                    // The answer to a command for which the guest did not wait comes late.
                    Ok(Answered { id, .. }) if id != self.last => {}
                    Ok(Answered { answer, .. }) => return Ok(Some(answer)),
                    Err(_) => self.channel = None,
                }
            }
        }
    }
}

/// Returns the ask for a command; `None` if it is too long.
fn ask(id: u64, command: &GuestCommand<'_>) -> Option<Ask> {
    let text = |word: &str| word.as_bytes().to_vec();
    let program = command.program.as_os_str().as_encoded_bytes().to_vec();
    let words: Vec<Vec<u8>> = std::iter::once(program).chain(command.arguments.iter().map(|word| text(word))).collect();
    if words.iter().map(|word| word.len() as u64 + 1).sum::<u64>() > MAX_WORDS {
        return None;
    }
    let is_told = |name: &str| LANGUAGE_VARIABLES.contains(&name) || name.starts_with("LC_");
    let mut left = MAX_VARIABLES;
    let mut variables = Vec::new();
    for (name, value) in command.variables.iter().filter(|(name, _)| is_told(name)) {
        let variable = text(&format!("{name}={value}"));
        // What is beyond the bound is left out.
        if let Some(rest) = left.checked_sub(variable.len() as u64 + 1) {
            left = rest;
            variables.push(variable);
        }
    }
    let streams = [!command.stdin.is_empty(), true, true];
    Some(Ask { id, words, variables, umask: command.umask & 0o777, streams })
}

/// Returns the end of a command that was not started, as the stub of a room has it.
fn not_started(program: &Path, errno: Errno) -> GuestAnswer {
    let message = stub::not_started(program, errno) + "\n";
    let stderr = CapturedOutput { total: message.len() as u64, bytes: message.into_bytes() };
    GuestAnswer::Ended {
        end: CommandEnd::Exited(stub::NOT_STARTED.into()),
        stdout: CapturedOutput::default(),
        stderr,
        took: Duration::ZERO,
    }
}

fn poll(polled: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<()> {
    let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match rustix::event::poll(polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Keeps the starter from asking the command to end, until it is dropped or a cleanup ends the run.
struct Hold {
    /// Hangs up when the hold is released. The starter has a copy.
    reader: PipeReader,
    /// Releases the hold.
    _release: modbox_cleanup::UndoGuard,
}

impl Hold {
    fn new(cleanup: &Cleanup) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let writer = Arc::new(Mutex::new(Some(writer)));
        let release = cleanup.register(move || drop(writer.lock().unwrap_or_else(PoisonError::into_inner).take()));
        Ok(Self { reader, _release: release })
    }
}

/// A command's ends of its streams.
struct TheirStreams {
    stdin: Option<PipeReader>,
    stdout: PipeWriter,
    stderr: PipeWriter,
}

/// The host's ends of a command's streams.
struct Attended<'a> {
    /// `None` when the input is written, or no process reads it.
    stdin: Option<PipeWriter>,
    /// What is left of the input.
    input: &'a [u8],
    stdout: Stream,
    stderr: Stream,
    chunk: Vec<u8>,
}

impl<'a> Attended<'a> {
    fn new(command: &GuestCommand<'a>) -> io::Result<(Self, TheirStreams)> {
        let input = command.stdin;
        let (stdin, writer) = (!input.is_empty()).then(io::pipe).transpose()?.unzip();
        let ((out, stdout), (err, stderr)) = (io::pipe()?, io::pipe()?);
        // A description of its own each, so that the command's ends wait.
        for own in [Some(out.as_fd()), Some(err.as_fd()), writer.as_ref().map(AsFd::as_fd)].into_iter().flatten() {
            rustix::io::ioctl_fionbio(own, true)?;
        }
        let stream = |pipe| Stream::new(pipe, command.max_output);
        let (out, err) = (stream(out), stream(err));
        let own = Self { stdin: writer, input, stdout: out, stderr: err, chunk: vec![0; CHUNK] };
        Ok((own, TheirStreams { stdin, stdout, stderr }))
    }

    fn polled(&self) -> impl Iterator<Item = PollFd<'_>> {
        let outputs = [&self.stdout, &self.stderr].into_iter().filter_map(|stream| stream.pipe.as_ref());
        let input = self.stdin.iter().map(|stdin| PollFd::new(stdin, PollFlags::OUT));
        outputs.map(|pipe| PollFd::new(pipe, PollFlags::IN)).chain(input)
    }

    /// Reads and writes once, without waiting.
    fn exchange(&mut self) -> io::Result<()> {
        self.stdout.read(&mut self.chunk)?;
        self.stderr.read(&mut self.chunk)?;
        if let Some(stdin) = &mut self.stdin {
            match stdin.write(self.input) {
                Ok(written) => self.input = &self.input[written..],
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                // The command does not read it.
                Err(_) => self.input = &[],
            }
            if self.input.is_empty() {
                self.stdin = None;
            }
        }
        Ok(())
    }

    /// Reads what is left when the command has ended. A process that it has left running may hold its streams open; `run_command`
    /// of Ansible waits as long for it (ansible-core 2.21, `select(1)`).
    fn drain(&mut self) -> io::Result<()> {
        self.stdin = None;
        let deadline = Instant::now().checked_add(DRAIN_PATIENCE);
        while self.stdout.is_open() || self.stderr.is_open() {
            if deadline.is_none_or(|deadline| Instant::now() >= deadline) {
                break;
            }
            let mut polled: Vec<PollFd<'_>> = self.polled().collect();
            poll(&mut polled, deadline)?;
            drop(polled);
            self.exchange()?;
        }
        Ok(())
    }
}
