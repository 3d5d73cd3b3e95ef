//! The process between modbox and a native module: prepares the room, starts the shell in it, watches
//! it, and leaves nothing of it behind.
//!
//! It is modbox itself, started again with [`WORD`]. A process of its own is needed because a subreaper
//! adopts every orphan below it, which must not be the host with its other runs; because the module has
//! to be killed even when the host is killed first; and because work between fork and exec is not safe
//! in a host with threads. It has one thread, opens no file but `/proc`, and trusts the host alone.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Resource, Rlimit, WaitOptions};

use crate::sandbox::native::protocol::{self, End, Reply, Spec, Step, WatchedLimit};
use crate::sandbox::native::tree::{self, Proc};
use crate::sandbox::native::{stdin, system};

/// The first argument that makes modbox a launcher. Not for people: without the host's socket as its
/// standard input it fails at once.
pub const WORD: &str = "__native-launcher";

/// How often the tree is looked at: often enough that a fork bomb stays small, seldom enough that a long
/// run costs a few thousandths of a processor.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// On a machine with very many processes a look takes long; at most one part in this many of the time
/// is spent looking.
const WATCH_SHARE: u32 = 20;

/// How long the launcher goes on killing. Whatever then is still there cannot be killed.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// RLIMIT_DATA is not set lower, as it binds the launcher too while it starts the shell.
const MIN_DATA_LIMIT: u64 = 32 << 20;

/// Is the launcher. Returns when the module and everything that it started are gone.
#[must_use]
pub fn main() -> ExitCode {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else { return ExitCode::FAILURE };
    let Ok(spec) = protocol::receive::<Spec>(&control) else { return ExitCode::FAILURE };
    let reply = launch(&control, &spec)
        .unwrap_or_else(|Failed { step, error }| Reply::Failed { step, errno: error.raw_os_error().unwrap_or(0) });
    match protocol::send(&control, &reply) {
        Ok(()) => ExitCode::SUCCESS,
        // The host is gone; there is nobody left to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

struct Failed {
    step: Step,
    error: io::Error,
}

fn at<E: Into<io::Error>>(step: Step) -> impl FnOnce(E) -> Failed {
    move |error| Failed { step, error: error.into() }
}

/// Takes the steps that the documentation of [`crate::sandbox::native`] lists.
fn launch(control: &File, spec: &Spec) -> Result<Reply, Failed> {
    let own = rustix::process::getpid();
    // 1. Without /proc the tree could be neither watched nor killed, so nothing is started.
    let proc = Proc::open().map_err(at(Step::Proc))?;
    // 2. No terminal, so that a module neither reads what the user types nor gets the user's Ctrl-C.
    rustix::process::setsid().map_err(at(Step::Session))?;
    // 3. Orphans come to this process, so no double fork leads out of the tree.
    rustix::process::set_child_subreaper(Some(own)).map_err(at(Step::Subreaper))?;
    // 4. The three standard streams are all that a module inherits.
    system::close_on_exec_from(3).map_err(at(Step::Descriptors))?;
    // 5. Entered here and not by the spawn, whose error could not be told from a missing shell.
    std::env::set_current_dir(&spec.directory).map_err(at(Step::Directory))?;
    // What the module reads came with its instructions.
    let stdin = match spec.has_stdin {
        true => Stdio::from(stdin::receive(control).map_err(at(Step::Stdin))?),
        false => Stdio::null(),
    };
    // 6. Before the first child, so that none is missed.
    let ended = ended_children().map_err(at(Step::ChildSignal))?;
    // 7. What the kernel counts for each process.
    let raised = lower_limits(spec).map_err(at(Step::Limits))?;
    // 8. The module.
    let shell = start_shell(spec, stdin).map_err(at(Step::Shell))?;
    // The launcher itself may run longer than the module computes. Failing is harmless: it would be
    // killed by the same limit, seconds of processor time later, and the host notices.
    let _ = rustix::process::setrlimit(Resource::Cpu, raised);
    // 9. A bomb takes the processor from everybody, so also from whoever is to end it. Only root may go
    // first; for others ending one takes seconds.
    let _ = system::run_before_others();

    let mut tree = Tree { own, shell, proc, ended, exited: None };
    // 10. Until it ends, is ended by a limit, or the host says so or is gone.
    let end = tree.watch(control, spec);
    // 11. Nothing stays.
    let survivors = tree.kill();
    let usage = system::children_usage();
    Ok(Reply::Ended { end, cpu_us: usage.cpu_us, memory_bytes: usage.memory_bytes, survivors })
}

/// Returns a stream that becomes readable when a child ends.
fn ended_children() -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, writer)?;
    Ok(reader)
}

/// Sets the limits that children inherit. Returns the processor limit to go back to.
///
/// RLIMIT_NPROC is not among them: it counts all processes of the user and not those of this tree, and
/// is not enforced for root. RLIMIT_AS would refuse what only reserves addresses, as Go, Node and every
/// wasm engine do. RLIMIT_FSIZE would bound each file on its own.
fn lower_limits(spec: &Spec) -> rustix::io::Result<Rlimit> {
    let lower = |resource: Resource, wanted: u64| {
        let old = rustix::process::getrlimit(resource);
        let least = |old: Option<u64>| Some(old.map_or(wanted, |old| old.min(wanted)));
        rustix::process::setrlimit(resource, Rlimit { current: least(old.current), maximum: least(old.maximum) })
    };
    lower(Resource::Core, 0)?;
    lower(Resource::Data, spec.max_memory.max(MIN_DATA_LIMIT))?;
    // Only a backstop for when the watch fails, so a little more than the limit itself; and only the
    // soft half, since a lowered hard one could not be raised again for the launcher.
    let seconds = spec.cpu_time_us.div_ceil(1_000_000).saturating_add(1);
    let old = rustix::process::getrlimit(Resource::Cpu);
    let current = old.current.map_or(seconds, |old| old.min(seconds));
    rustix::process::setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum: old.maximum })?;
    Ok(old)
}

fn start_shell(spec: &Spec, stdin: Stdio) -> io::Result<Pid> {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts a native module")]
    let child = Command::new("/bin/sh")
        .arg("-c")
        .arg(&spec.command)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        // A group apart from the launcher's, to be killed in one step.
        .process_group(0)
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// The tree of processes below the launcher.
struct Tree {
    own: Pid,
    shell: Pid,
    proc: Proc,
    /// Readable when a child has ended.
    ended: UnixStream,
    /// How the shell ended, once it has.
    exited: Option<i32>,
}

impl Tree {
    fn watch(&mut self, control: &File, spec: &Spec) -> End {
        let mut next = Instant::now() + WATCH_INTERVAL;
        loop {
            self.reap();
            if let Some(code) = self.exited {
                return End::Exited(code);
            }
            let now = Instant::now();
            if now >= next {
                if let Some(limit) = self.passed_limit(spec) {
                    return End::Limit(limit);
                }
                next = Instant::now() + WATCH_INTERVAL.max(now.elapsed() * WATCH_SHARE);
            }
            if self.wait(Some(control), next.saturating_duration_since(Instant::now())) {
                return End::Requested;
            }
        }
    }

    /// Waits for an ended child, the host or the time. Returns whether it was the host, who says only
    /// one thing, by a byte or by its end.
    fn wait(&mut self, control: Option<&File>, timeout: Duration) -> bool {
        let mut descriptors = vec![PollFd::new(&self.ended, PollFlags::IN)];
        descriptors.extend(control.map(|control| PollFd::new(control, PollFlags::IN)));
        let timeout = Timespec::try_from(timeout).ok();
        if rustix::event::poll(&mut descriptors, timeout.as_ref()).is_err() {
            // Interrupted by the very signal that it waits for.
            return false;
        }
        let asked = descriptors.get(1).is_some_and(|control| !control.revents().is_empty());
        if !descriptors[0].revents().is_empty() {
            // Only says "look", however many bytes it has become.
            let _ = Read::read(&mut &self.ended, &mut [0; 64]);
        }
        asked
    }

    /// Collects every child that has ended. Returns whether there is any other.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.shell => {
                    let signal = status.terminating_signal().map(|signal| 128 + signal);
                    self.exited = status.exit_status().or(signal);
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn passed_limit(&self, spec: &Spec) -> Option<WatchedLimit> {
        // A look that fails is made again; the kernel's own limits hold meanwhile.
        let processes = self.proc.descendants(self.own).ok()?;
        let threads: u64 = processes.iter().map(|process| process.threads).sum();
        if threads > spec.max_processes {
            return Some(WatchedLimit::Processes);
        }
        let living: u64 = processes.iter().map(|process| process.cpu_us).sum();
        if living.saturating_add(system::children_usage().cpu_us) > spec.cpu_time_us {
            return Some(WatchedLimit::Cpu);
        }
        let memory: u64 = processes.iter().map(|process| self.proc.memory_bytes(process)).sum();
        (memory > spec.max_memory).then_some(WatchedLimit::Memory)
    }

    /// Kills every descendant, stopped ones too, and returns how many could not be killed.
    ///
    /// It is over when the kernel says that there is no child left: all orphans of the tree become
    /// children of this process, so no child means no descendant.
    fn kill(&mut self) -> u64 {
        let end = Instant::now() + KILL_PATIENCE;
        while self.reap() {
            let killed = tree::kill(|| self.proc.descendants(self.own), self.own).unwrap_or_default();
            if Instant::now() >= end {
                return killed.iter().filter(|process| !process.zombie).count() as u64;
            }
            self.wait(None, tree::KILL_ROUND);
        }
        0
    }
}
