//! A place in which jobs run: a worker for guests, with a thread if they run on layers, or a thread for native modules and for
//! guests with commands outside.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::batch::setup::Setup;
use crate::batch::slots::guest_slot::{GuestSlot, SlotState};
use crate::batch::slots::layered_slot::LayeredSlot;
use crate::batch::slots::slot_context::SlotContext;
use crate::batch::slots::thread_slot::ThreadSlot;
use crate::batch::task::{Answer, Task};
use crate::layered::{LayeredRun, WarmLayers};

/// A slot and the jobs that were given to it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) setup: Arc<Setup>,
    pub(crate) idle_since: Instant,
    kind: SlotKind,
}

#[derive(Debug)]
enum SlotKind {
    Guest(GuestSlot),
    Layered(LayeredSlot),
    Thread(ThreadSlot),
}

impl Slot {
    /// Starts a slot for a setup.
    ///
    /// # Errors
    ///
    /// The kernel gives no thread.
    pub(crate) fn start(setup: Arc<Setup>, context: SlotContext<'_>) -> io::Result<Self> {
        let suits = |run: &LayeredRun| WarmLayers::suit(context.runner, &setup.module, &setup.policy, run);
        let kind = match &setup.layers {
            Some(run) if suits(run) => SlotKind::Layered(LayeredSlot::start(Arc::clone(&setup), run.clone(), context)?),
            // Commands outside may go on when their guest is gone, so each run with such grants has a worker of its own.
            None if setup.form.is_guest()
                && (setup.policy.outside().is_empty() || setup.policy.allows_everything()) =>
            {
                SlotKind::Guest(GuestSlot::start(Arc::clone(&setup), context)?)
            }
            _ => SlotKind::Thread(ThreadSlot::new()),
        };
        Ok(Self { setup, idle_since: Instant::now(), kind })
    }

    /// Returns the number of jobs that are not answered.
    pub(crate) fn load(&self) -> usize {
        match &self.kind {
            SlotKind::Guest(slot) => slot.load(),
            SlotKind::Layered(slot) => slot.load(),
            SlotKind::Thread(slot) => usize::from(!slot.is_idle()),
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.load() == 0
    }

    /// Returns whether the slot takes another job now.
    pub(crate) fn has_room(&self) -> bool {
        match &self.kind {
            SlotKind::Guest(slot) => slot.has_room(),
            SlotKind::Layered(slot) => slot.has_room(),
            SlotKind::Thread(slot) => slot.is_idle(),
        }
    }

    /// Returns for how long the slot has plenty to do.
    pub(crate) fn stocked(&self) -> Duration {
        match &self.kind {
            SlotKind::Guest(slot) => slot.stocked(),
            SlotKind::Layered(slot) => slot.stocked(),
            SlotKind::Thread(_) => Duration::ZERO,
        }
    }

    /// Gives the slot a job. Returns the answer of a job that cannot be started.
    pub(crate) fn give(&mut self, task: Task, context: SlotContext<'_>) -> Option<Answer> {
        match &mut self.kind {
            SlotKind::Guest(slot) => slot.give(task, context.runner),
            SlotKind::Layered(slot) => {
                slot.give(task);
                None
            }
            SlotKind::Thread(slot) => slot.run(task, context.runner, context.wakeups),
        }
    }

    pub(crate) fn flush(&mut self) {
        if let SlotKind::Guest(slot) = &mut self.kind {
            slot.flush();
        }
    }

    /// Returns the channel to poll and whether something is to be written to it.
    pub(crate) fn channel(&self) -> Option<(BorrowedFd<'_>, bool)> {
        match &self.kind {
            SlotKind::Guest(slot) => slot.worker().map(|worker| (worker.as_fd(), worker.wants_to_write())),
            SlotKind::Layered(_) | SlotKind::Thread(_) => None,
        }
    }

    /// Returns the listener for refused system calls to poll, if there is one.
    pub(crate) fn listener(&self) -> Option<BorrowedFd<'_>> {
        match &self.kind {
            SlotKind::Guest(slot) => slot.worker()?.listener(),
            SlotKind::Layered(_) | SlotKind::Thread(_) => None,
        }
    }

    /// Returns when the slot must have answered at the latest; `None` if it sees to that itself.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.kind {
            SlotKind::Guest(slot) => slot.deadline(),
            SlotKind::Layered(_) | SlotKind::Thread(_) => None,
        }
    }

    /// Handles what has arrived, and adds the answers of jobs that have ended.
    pub(crate) fn look(&mut self, context: SlotContext<'_>, answers: &mut Vec<Answer>) -> SlotState {
        let before = answers.len();
        let state = match &mut self.kind {
            SlotKind::Guest(slot) => slot.look(context, answers),
            SlotKind::Layered(slot) => slot.look(answers),
            SlotKind::Thread(slot) => {
                answers.extend(slot.take_answer(&self.setup));
                SlotState::Open
            }
        };
        if answers.len() > before {
            self.idle_since = Instant::now();
        }
        state
    }

    /// Returns whether the slot has the guest of this job, and no other job.
    pub(crate) fn runs_only(&self, number: u64) -> bool {
        matches!(&self.kind, SlotKind::Guest(slot) if slot.runs_only(number))
    }

    /// Ends the slot of a guest, and answers its job as cancelled.
    pub(crate) fn cancel(self) -> Option<Answer> {
        match self.kind {
            SlotKind::Guest(slot) => slot.cancel(),
            SlotKind::Layered(_) | SlotKind::Thread(_) => None,
        }
    }

    /// Ends a slot that missed its deadline, and answers its first job. Returns the jobs that were not begun.
    pub(crate) fn end_late(&mut self, context: SlotContext<'_>, answers: &mut Vec<Answer>) -> VecDeque<Task> {
        match &mut self.kind {
            SlotKind::Guest(slot) => slot.end_late(context, answers),
            SlotKind::Layered(_) | SlotKind::Thread(_) => VecDeque::new(),
        }
    }
}
