//! The slots of a batch or a sequence: finds one for each job, starts and ends them, and collects answers.
//!
//! The pool waits for nothing itself: its owner polls what [`SlotPool::poll_fds`] returns, with its own descriptors.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::error_chain;
use modbox_worker::Workers;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::batch::setup::Setup;
use crate::batch::slots::background::{WakeupSender, Wakeups};
use crate::batch::slots::guest_slot::SlotState;
use crate::batch::slots::slot::Slot;
use crate::batch::slots::slot_context::SlotContext;
use crate::batch::task::{Answer, Task};
use crate::reports::report::Report;
use crate::runner::Runner;

/// Maximum number of idle workers that are kept, in addition to the busy ones.
const KEPT: usize = 16;

/// What the slots of a pool share.
#[derive(Debug)]
pub struct PoolConfig {
    /// Maximum number of jobs that run at the same time.
    pub jobs: usize,
    /// Admits, prepares and judges all runs.
    pub runner: Arc<Runner>,
    /// Source of the workers for guests.
    pub workers: Workers,
    /// Registry of what must not outlive modbox, such as worker processes.
    pub cleanup: Cleanup,
}

#[derive(Debug)]
pub(crate) struct SlotPool {
    config: PoolConfig,
    slots: Vec<Slot>,
    wakeups: Wakeups,
}

/// What the slots have done since the last look.
#[derive(Debug, Default)]
pub(crate) struct PoolEvents {
    /// Jobs that have ended.
    pub(crate) answers: Vec<Answer>,
    /// Jobs that were given to a slot which is over, and not begun.
    pub(crate) given_back: VecDeque<Task>,
}

impl SlotPool {
    /// Creates a pool without slots.
    ///
    /// # Errors
    ///
    /// The kernel gives no pipe.
    pub(crate) fn new(config: PoolConfig) -> io::Result<Self> {
        Ok(Self { config, slots: Vec::new(), wakeups: Wakeups::new()? })
    }

    /// Returns what ends a wait for the pool.
    pub(crate) fn waker(&self) -> WakeupSender {
        self.wakeups.sender()
    }

    /// Kills the guest that runs a job alone, and returns its answer; `None` for another job.
    pub(crate) fn cancel(&mut self, number: u64) -> Option<Answer> {
        let at = self.slots.iter().position(|slot| slot.runs_only(number))?;
        self.slots.swap_remove(at).cancel()
    }

    /// Ends all slots without jobs.
    pub(crate) fn end_idle(&mut self) {
        self.slots.retain(|slot| !slot.is_idle());
    }

    pub(crate) fn cleanup(&self) -> &Cleanup {
        &self.config.cleanup
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.active() == 0
    }

    fn active(&self) -> usize {
        self.slots.iter().filter(|slot| !slot.is_idle()).count()
    }

    /// Returns whether another job may start, beside those that run.
    pub(crate) fn may_start(&self) -> bool {
        self.active() < self.config.jobs
    }

    /// Returns whether a slot takes another job now.
    pub(crate) fn has_room(&self) -> bool {
        self.slots.iter().any(Slot::has_room)
    }

    /// Returns for how long all busy slots have plenty to do.
    pub(crate) fn stocked(&self) -> Duration {
        self.slots.iter().filter(|slot| !slot.is_idle()).map(Slot::stocked).min().unwrap_or_default()
    }

    /// Returns the index of the slot for a job: an idle one, a new one, or, if `ahead`, a busy one with room in its
    /// queue.
    ///
    /// # Errors
    ///
    /// No slot can be started, and none is running.
    pub(crate) fn place(&mut self, setup: &Arc<Setup>, ahead: bool) -> io::Result<Option<usize>> {
        let fits = |slot: &Slot| slot.setup.serves(setup);
        let best = (0..self.slots.len()).filter(|at| fits(&self.slots[*at])).min_by_key(|at| self.slots[*at].load());
        let may_start = self.may_start();
        match best {
            Some(at) if self.slots[at].is_idle() => return Ok(may_start.then_some(at)),
            Some(at) if !may_start => return Ok((ahead && self.slots[at].has_room()).then_some(at)),
            _ if !may_start => return Ok(None),
            _ => {}
        }
        self.end_oldest();
        match Slot::start(Arc::clone(setup), self.context()) {
            Ok(slot) => {
                self.slots.push(slot);
                Ok(Some(self.slots.len() - 1))
            }
            // The user has probably reached the limit of processes. The running slots go on.
            Err(_) if self.active() > 0 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Ends the slot that was idle for the longest time, if there are too many.
    fn end_oldest(&mut self) {
        if self.slots.len() >= self.config.jobs.saturating_add(KEPT) {
            let idle = |at: &usize| self.slots[*at].is_idle();
            let oldest = (0..self.slots.len()).filter(idle).min_by_key(|at| self.slots[*at].idle_since);
            if let Some(oldest) = oldest {
                self.slots.swap_remove(oldest);
            }
        }
    }

    /// Gives a slot a job, once its audit line is reserved. Returns the answer of a job that cannot be started.
    pub(crate) fn give(&mut self, slot: usize, mut task: Task) -> Option<Answer> {
        if let Err(error) = task.reserve_audit(&self.config.cleanup) {
            return Some(task.answer(|setup| Report::not_run(setup.module.path(), &error_chain(&error))));
        }
        let Self { config, slots, wakeups } = self;
        slots[slot].give(task, context(config, wakeups))
    }

    /// Writes as much as the workers' channels take.
    pub(crate) fn flush(&mut self) {
        self.slots.iter_mut().for_each(Slot::flush);
    }

    /// Waits until the pool or one of the owner's descriptors is ready, or a slot is late. Returns the owner's events.
    ///
    /// # Errors
    ///
    /// The kernel cannot wait.
    pub(crate) fn wait(&mut self, others: &[(BorrowedFd<'_>, PollFlags)]) -> io::Result<Vec<PollFlags>> {
        let deadline = self.slots.iter().filter_map(Slot::deadline).min();
        let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut polled = Vec::with_capacity(1 + others.len() + 2 * self.slots.len());
        polled.push(PollFd::new(&self.wakeups, PollFlags::IN));
        polled.extend(others.iter().map(|(other, flags)| PollFd::from_borrowed_fd(*other, *flags)));
        polled.extend(self.slots.iter().filter_map(Slot::channel).map(|(channel, writes)| {
            PollFd::from_borrowed_fd(channel, PollFlags::IN | if writes { PollFlags::OUT } else { PollFlags::empty() })
        }));
        let listeners = self.slots.iter().filter_map(Slot::listener);
        polled.extend(listeners.map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, timeout.as_ref()))?;
        let ready: Vec<PollFlags> = polled.iter().take(1 + others.len()).map(PollFd::revents).collect();
        if !ready[0].is_empty() {
            self.wakeups.clear();
        }
        Ok(ready[1..].to_vec())
    }

    /// Handles what has arrived from all slots, and removes those that are over.
    pub(crate) fn look(&mut self) -> PoolEvents {
        let Self { config, slots, wakeups } = self;
        let (mut events, mut at) = (PoolEvents::default(), 0);
        while at < slots.len() {
            match slots[at].look(context(config, wakeups), &mut events.answers) {
                SlotState::Open => at += 1,
                SlotState::Over(tasks) => {
                    events.given_back.extend(tasks);
                    slots.swap_remove(at);
                }
            }
        }
        events
    }

    /// Ends slots that have missed their deadline.
    pub(crate) fn end_late(&mut self) -> PoolEvents {
        let Self { config, slots, wakeups } = self;
        let (mut events, now) = (PoolEvents::default(), Instant::now());
        let is_late = |slot: &Slot| slot.deadline().is_some_and(|deadline| deadline < now);
        while let Some(at) = slots.iter().position(is_late) {
            let mut slot = slots.swap_remove(at);
            events.given_back.extend(slot.end_late(context(config, wakeups), &mut events.answers));
        }
        events
    }

    fn context(&self) -> SlotContext<'_> {
        context(&self.config, &self.wakeups)
    }
}

fn context<'a>(config: &'a PoolConfig, wakeups: &'a Wakeups) -> SlotContext<'a> {
    let PoolConfig { runner, workers, cleanup, .. } = config;
    SlotContext { runner, workers, cleanup, wakeups }
}
