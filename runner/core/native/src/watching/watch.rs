//! Watches a tree of processes until it ends, exceeds a limit, or the host asks for its end; then kills what is left.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use modbox_policy::{Owners, SingleFiles};
use modbox_vocabulary::{Denial, LimitKind, Observation};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::calls::observe::Observer;
use crate::copies::clock::{self, Moment};
use crate::copies::commit::{self, Stage, TakenBack};
use crate::copies::module_copy::Circumstances;
use crate::copies::unreached;
use crate::inside::private_space::PrivateSpace;
use crate::link::{InitMessage, ModuleEnd};
use crate::processes::group::Group;
use crate::processes::tree::{self, Proc};
use crate::protocol::{DiskUse, End, MESSAGES, Spec};
use crate::system::{self, TreeUsage};

/// Interval of the checks of the tree: short enough that a fork bomb stays small, long enough that a long run costs a
/// few thousandths of a processor.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Time of the first check; from there the intervals double. A fork bomb that the kernel refuses to grow can be over
/// within a tenth of a second, and few of its processes are left before that.
const FIRST_LOOK: Duration = Duration::from_millis(5);

/// On a machine with very many processes a check takes long; at most one part in this many of the time is spent on
/// checks.
const WATCH_SHARE: u32 = 20;

/// How long the launcher goes on killing. Processes that still exist then cannot be killed.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// Parts of a room beside its processes.
#[derive(Debug, Default)]
pub(crate) struct RoomResources {
    /// The room's own file system or directory.
    private: Option<PrivateSpace>,
    /// The room's own `/proc`, which lists only the room's processes, so that a check takes no longer on a busy
    /// machine.
    pub(crate) proc: Option<Proc>,
    /// Bytes that this process had written before.
    written: u64,
    stages: Vec<Stage>,
    /// Single names that the module cannot make on the machine.
    unmade: Vec<PathBuf>,
    /// When the module began.
    begun: Moment,
    pub(crate) observer: Option<Observer>,
    group: Option<Group>,
    /// Connection to the room's first process, which only reports the end on it.
    link: Option<UnixStream>,
}

impl RoomResources {
    pub(crate) fn new(
        private: PrivateSpace,
        proc: Option<Proc>,
        (stages, unmade): (Vec<Stage>, Vec<PathBuf>),
        observer: Option<Observer>,
        link: UnixStream,
        written: u64,
    ) -> Self {
        let begun = clock::before_writes();
        let (private, link) = (Some(private), Some(link));
        Self { private, proc, written, stages, unmade, begun, observer, group: None, link }
    }

    /// Returns the parts for a module without a room.
    pub(crate) fn of_observed(observer: Observer, link: UnixStream) -> Self {
        Self { observer: Some(observer), link: Some(link), written: Proc::written_by_self(), ..Self::default() }
    }

    pub(crate) fn with_group(self, group: Option<Group>) -> Self {
        Self { group, ..self }
    }

    /// Returns what was added to the room's own file system or directory since the beginning.
    pub(crate) fn private(&self) -> DiskUse {
        self.private.as_ref().map(PrivateSpace::added).unwrap_or_default()
    }

    /// Returns the bytes that were in the shared directory of the room at the beginning.
    pub(crate) fn left_by_others(&self) -> u64 {
        self.private.as_ref().map_or(0, PrivateSpace::left_by_others)
    }

    /// Returns the module's use of disks, once it is gone. `last` is what the room's first process and those that it waited
    /// for have written.
    fn used(&self, last: u64) -> Option<DiskUse> {
        self.link.as_ref()?;
        let private = self.private();
        // What is in its directories on disks was written there.
        let on_disks = self.private.as_ref().map_or(0, PrivateSpace::added_on_disks);
        let written = Proc::written_by_self().saturating_sub(self.written).saturating_add(last);
        let written = written.saturating_sub(on_disks);
        Some(DiskUse { bytes: private.bytes.saturating_add(written), ..private })
    }

    /// Returns the limit that the kernel has enforced by itself, as far as the control group counts it.
    pub(crate) fn enforced(&self) -> Option<LimitKind> {
        let group = self.group.as_ref()?;
        let memory = group.out_of_memory().then_some(LimitKind::Memory);
        memory.or_else(|| group.out_of_processes().then_some(LimitKind::Processes))
    }

    /// Returns the memory that the module holds, if it is counted. The room's own file system is left out, because it
    /// has its own limit.
    pub(crate) fn held(&self) -> Option<u64> {
        let apart = self.private.as_ref().map_or(0, PrivateSpace::in_memory);
        self.group.as_ref()?.held(apart)
    }

    /// Takes the files of single-name grants to their places.
    fn commit(&mut self, spec: &Spec) -> TakenBack {
        let Some(room) = &spec.room else { return TakenBack::default() };
        let own = Owners::Some(room.own.clone());
        let circumstances = Circumstances::of(room, &own, self.begun);
        let mut result = match room.single_files {
            SingleFiles::Dropped => commit::drop_changes(&self.stages),
            SingleFiles::TakenBack | SingleFiles::StandIns(_) => {
                commit::take_back(&self.stages, spec.user.as_ref(), circumstances)
            }
        };
        if let Some(observer) = &mut self.observer {
            self.stages.iter().flat_map(Stage::strays).for_each(|stray| observer.stray(&stray));
            result.lost_bits.iter().for_each(|lost| observer.lose_bits(lost));
        }
        if let Some(private) = self.private.as_ref().and_then(PrivateSpace::root) {
            let directories = self.stages.iter().map(Stage::directory);
            result.lost.extend(unreached::find(private, directories, &room.missing, &self.unmade));
            result.left_in_tmp = unreached::left_in_tmp(private, room);
        }
        result
    }

    /// Returns the observed denials, whether there may be more, and what else is known of an observed module.
    fn refused(&mut self) -> (Vec<Denial>, bool, Observation) {
        self.observer.take().map(Observer::refused).unwrap_or_default()
    }
}

/// The tree of processes below the launcher.
pub(crate) struct Tree {
    pub(crate) own: Pid,
    /// The shell, or the first process of a room.
    first: Pid,
    pub(crate) proc: Rc<Proc>,
    /// Readable when a child has ended.
    ended: UnixStream,
    /// Exit status of the first process, once it has ended.
    exited: Option<i32>,
    /// The signal that ended it, if one did.
    signal: Option<i32>,
    /// Whether a process is left that the observer could report on.
    observed: bool,
    /// Message of the room's first process, once it has sent one.
    pub(super) message: Option<InitMessage>,
    /// Whether the first process will send nothing more.
    link_done: bool,
    pub(crate) resources: RoomResources,
    /// Processes and threads at the last check of the tree.
    pub(crate) last_count: u64,
}

/// Events that ended a wait.
#[derive(Debug, Default)]
struct WakeReasons {
    end_requested: bool,
    report_waiting: bool,
    message_waiting: bool,
    answer_waiting: bool,
}

impl Tree {
    pub(crate) fn new(own: Pid, first: Pid, proc: Proc, ended: UnixStream, resources: RoomResources) -> Self {
        let (exited, signal, message) = (None, None, None);
        Self {
            own,
            first,
            proc: Rc::new(proc),
            ended,
            exited,
            signal,
            observed: true,
            message,
            link_done: false,
            resources,
            last_count: 1,
        }
    }

    /// Returns whether only the first process of the room is left, which is about to end and has not yet been waited
    /// for.
    pub(crate) fn is_over(&self) -> bool {
        self.over().is_some()
    }

    fn over(&self) -> Option<&ModuleEnd> {
        match &self.message {
            Some(InitMessage::Over(over)) if self.exited.is_none() => Some(over),
            _ => None,
        }
    }

    /// Returns the processor time and memory that the module used, once it is gone.
    pub(crate) fn usage(&self) -> TreeUsage {
        let last = self.over().map_or_else(TreeUsage::default, |over| over.usage);
        let usage = system::children_usage().and(last);
        let peak = self.resources.group.as_ref().and_then(Group::peak);
        TreeUsage { memory_bytes: peak.unwrap_or(usage.memory_bytes), ..usage }
    }

    /// Returns the module's use of disks.
    pub(crate) fn used(&self) -> Option<DiskUse> {
        self.resources.used(self.over().map_or(0, |over| over.written))
    }

    /// Takes the files of single-name grants to their places.
    pub(crate) fn commit(&mut self, spec: &Spec) -> TakenBack {
        self.resources.commit(spec)
    }

    /// Returns the observed denials, whether there may be more, and what else is known of an observed module.
    pub(crate) fn refused(&mut self) -> (Vec<Denial>, bool, Observation) {
        self.resources.refused()
    }

    /// Returns whether the module may have renamed a directory of an overlay. Call it before [`Self::refused`].
    pub(crate) fn refused_renames(&self) -> bool {
        // Without reports, nothing is known of renames.
        self.resources.observer.as_ref().is_none_or(Observer::saw_renamed_directory)
    }

    /// Watches the tree until it ends, exceeds a limit, or the host asks for its end or is gone.
    pub(crate) fn watch(&mut self, control: &File, spec: &Spec) -> End {
        let mut interval = FIRST_LOOK;
        let mut next = Instant::now() + interval;
        loop {
            self.reap();
            if let Some(code) = self.exited.or_else(|| self.over().map(|over| over.code)) {
                // A module did not end by itself if the kernel killed it, or a part of it, for lack of memory, or
                // refused it a process.
                let passed = self.resources.enforced();
                // Nor did one that wrote too much between two checks.
                return match passed.or_else(|| self.overfull(spec)).or_else(|| self.overwritten(spec)) {
                    Some(limit) => End::Limit(limit),
                    None => self.own_end(code, spec),
                };
            }
            let now = Instant::now();
            if now >= next {
                let before = clock::own_processor_time();
                if let Some(limit) = self.passed_limit(spec) {
                    return End::Limit(limit);
                }
                interval = WATCH_INTERVAL.min(interval * 2);
                // Processor time, because a module that takes the processors must not delay the next check.
                let taken = clock::own_processor_time().saturating_sub(before);
                next = Instant::now() + interval.max(taken * WATCH_SHARE);
            }
            let reasons = self.wait(Some(control), next.saturating_duration_since(Instant::now()));
            if reasons.end_requested {
                return End::Requested;
            }
            if reasons.message_waiting {
                self.receive_message();
            }
            if reasons.answer_waiting
                && let Some(observer) = &mut self.resources.observer
            {
                observer.pass_answer();
            }
            if reasons.report_waiting
                && let Some(limit) = self.answer(spec)
            {
                return End::Limit(limit);
            }
        }
    }

    /// Answers a report. Returns a limit if the call would exceed it; then it is not answered, and ends with the tree.
    fn answer(&mut self, spec: &Spec) -> Option<LimitKind> {
        let call = self.resources.observer.as_mut()?.receive()?;
        let limit = self.limit_passed_by_calls(spec);
        if limit.is_none() {
            self.resources.observer.as_mut()?.answer(&call);
        }
        limit
    }

    /// Returns the end of a first process that ended by itself. It may have sent a message.
    fn own_end(&mut self, code: i32, spec: &Spec) -> End {
        if self.resources.link.is_none() {
            let signal = self.signal.filter(|_| spec.start.tells_signals());
            return signal.map_or(End::Exited(code), End::Signalled);
        }
        if self.message.is_none() {
            self.receive_message();
        }
        match &self.message {
            Some(InitMessage::Failed(failure)) => End::ProgramFailure(failure.clone()),
            // Any other message, or none.
            message => message.as_ref().and_then(InitMessage::signal).map_or(End::Exited(code), End::Signalled),
        }
    }

    /// Receives the message of the room's first process.
    fn receive_message(&mut self) {
        if let Some(link) = &self.resources.link {
            let _ = link.set_nonblocking(true);
            self.message = MESSAGES.receive_required(link).ok();
            self.link_done = true;
        }
    }

    /// Waits for an ended child, the host, a report or the timeout. The host has only one message: a byte, or the end
    /// of the stream.
    fn wait(&mut self, control: Option<&File>, timeout: Duration) -> WakeReasons {
        // While the tree is killed, calls that wait for an answer may wait: they fail with their process.
        let answers = self.observed && control.is_some();
        let observer = self.resources.observer.as_ref().filter(|_| answers).map(Observer::listener);
        let link = self.resources.link.as_ref().filter(|_| control.is_some() && !self.link_done);
        let asks = self.resources.observer.as_ref().filter(|_| answers).and_then(Observer::answers);
        let mut descriptors = vec![PollFd::new(&self.ended, PollFlags::IN)];
        descriptors.extend(control.map(|control| PollFd::new(control, PollFlags::IN)));
        descriptors.extend(link.map(|link| PollFd::new(link, PollFlags::IN)));
        descriptors.extend(asks.map(|asks| PollFd::from_borrowed_fd(asks, PollFlags::IN)));
        descriptors.extend(observer.map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
        let timeout = Timespec::try_from(timeout).ok();
        if rustix::event::poll(&mut descriptors, timeout.as_ref()).is_err() {
            // Interrupted by the same SIGCHLD that it waits for.
            return WakeReasons::default();
        }
        let at = |index: usize| descriptors.get(index).is_some_and(|polled| !polled.revents().is_empty());
        let end_requested = control.is_some() && at(1);
        let message_waiting = link.is_some() && at(2);
        let answer_waiting = asks.is_some() && at(1 + usize::from(control.is_some()) + usize::from(link.is_some()));
        let revents = descriptors.last().filter(|_| observer.is_some()).map_or(PollFlags::empty(), PollFd::revents);
        let report_waiting = revents.contains(PollFlags::IN);
        // After its last process ended, a listener is ready at every poll. Polling it further would take the processor
        // from the processes whose end is awaited.
        let listener_closed = !report_waiting && !revents.is_empty();
        if at(0) {
            // The number of bytes has no meaning.
            let _ = io::Read::read(&mut &self.ended, &mut [0; 64]);
        }
        self.observed &= !listener_closed;
        WakeReasons { end_requested, report_waiting, message_waiting, answer_waiting }
    }

    /// Reaps every child that has ended. Returns whether other children are left.
    pub(crate) fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.first => {
                    self.signal = status.terminating_signal();
                    let signal = self.signal.map(|signal| 128 + signal);
                    self.exited = status.exit_status().or(signal);
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Kills every descendant, also stopped ones, and returns how many could not be killed.
    ///
    /// It ends when the kernel reports that no child is left: all orphans of the tree become children of this process,
    /// so no child means no descendant. The first process of a room is killed first: with it the kernel ends all
    /// processes of its namespace in one step.
    pub(crate) fn kill(&mut self) -> u64 {
        let end = Instant::now() + KILL_PATIENCE;
        self.resources.group.iter().for_each(Group::kill);
        if self.exited.is_none() && self.resources.link.is_some() {
            let _ = rustix::process::kill_process(self.first, Signal::KILL);
            // A short wait lets the kernel do it: looking for each process takes longer.
            self.wait(None, tree::KILL_ROUND);
        }
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
