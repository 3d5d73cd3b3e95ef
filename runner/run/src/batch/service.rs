//! Runs jobs that arrive while others run, and answers each by a callback: in the warm processes of a batch, for a server.
//!
//! Orders come over a channel from other threads, and one descriptor wakes the loop for them and for its workers. A job that is
//! cancelled is taken out of the queue, or its guest is killed; the thread of a native module ends it at its limits. The owner
//! bounds how many jobs it orders.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{self, Receiver, Sender};

use crate::admission::Admission;
use crate::batch::dispatch::ResolvedJob;
use crate::batch::job::Job;
use crate::batch::pool::{PoolConfig, PoolEvents, SlotPool};
use crate::batch::progress::BatchError;
use crate::batch::sequence::Ended;
use crate::batch::slots::background::WakeupSender;
use crate::batch::task::{self, Answer, Task};
use crate::reports::report::Report;

/// What a service is told.
#[derive(Debug)]
enum Order<C> {
    Run(u64, C),
    Tell(C),
    Cancel(u64),
    End,
}

/// The side of a service that gives orders, from any thread.
#[derive(Debug)]
pub struct ServiceOrders<C> {
    orders: Sender<Order<C>>,
    waker: WakeupSender,
}

impl<C> Clone for ServiceOrders<C> {
    fn clone(&self) -> Self {
        Self { orders: self.orders.clone(), waker: self.waker.clone() }
    }
}

impl<C> ServiceOrders<C> {
    /// Orders a job. Each has a number of its own.
    pub fn run(&self, number: u64, call: C) {
        self.give(Order::Run(number, call));
    }

    /// Orders something that needs no job.
    pub fn tell(&self, call: C) {
        self.give(Order::Tell(call));
    }

    /// Takes back the order of a job: it is answered as cancelled, unless it has ended.
    pub fn cancel(&self, number: u64) {
        self.give(Order::Cancel(number));
    }

    /// Ends the service. Jobs that are not answered are cancelled.
    pub fn end(&self) {
        self.give(Order::End);
    }

    fn give(&self, order: Order<C>) {
        // A service that is over takes no orders.
        if self.orders.send(order).is_ok() {
            self.waker.wake();
        }
    }
}

/// Callbacks of a service to the code that started it. `C` is what an order of a job is.
pub trait ServiceHost<C> {
    /// Makes the job of an order, and finds its module, policy and limits.
    ///
    /// # Errors
    ///
    /// The reason why the job cannot be run.
    fn resolve(&mut self, call: &C) -> Result<(Job, ResolvedJob), String>;

    /// Does what was ordered and needs no job.
    fn tell(&mut self, call: C);

    /// Receives the report of a job.
    fn answer(&mut self, call: C, ended: Ended);

    /// Receives why a job cannot be run.
    fn refuse(&mut self, call: C, reason: String);
}

/// A running service.
#[derive(Debug)]
pub struct Service<C> {
    pool: SlotPool,
    orders: Receiver<Order<C>>,
    queue: VecDeque<Task>,
    /// The orders that are not answered, by number.
    calls: HashMap<u64, C>,
    has_ended: bool,
}

impl<C> Service<C> {
    /// Creates a service without starting anything.
    ///
    /// # Errors
    ///
    /// The kernel gives no pipe.
    pub fn new(config: PoolConfig) -> Result<(Self, ServiceOrders<C>), BatchError> {
        let pool = SlotPool::new(config).map_err(BatchError::Wait)?;
        let (sender, orders) = mpsc::channel();
        let given = ServiceOrders { orders: sender, waker: pool.waker() };
        Ok((Self { pool, orders, queue: VecDeque::new(), calls: HashMap::new(), has_ended: false }, given))
    }

    /// Serves until it is told to end.
    ///
    /// # Errors
    ///
    /// No worker can be started, or waiting failed.
    pub fn run(mut self, host: &mut dyn ServiceHost<C>) -> Result<(), BatchError> {
        loop {
            while let Ok(order) = self.orders.try_recv() {
                self.follow(order, host);
            }
            if self.has_ended {
                return Ok(());
            }
            self.hand_out(host)?;
            self.pool.wait(&[]).map_err(BatchError::Wait)?;
            for events in [self.pool.look(), self.pool.end_late()] {
                let PoolEvents { answers, given_back } = events;
                answers.into_iter().for_each(|answer| self.answer(answer, host));
                given_back.into_iter().rev().for_each(|task| self.queue.push_front(task));
            }
        }
    }

    fn follow(&mut self, order: Order<C>, host: &mut dyn ServiceHost<C>) {
        match order {
            Order::Run(number, call) => self.accept(number, call, host),
            Order::Tell(call) => host.tell(call),
            Order::Cancel(number) => self.cancel(number, host),
            Order::End => {
                let open: Vec<u64> = self.calls.keys().copied().collect();
                open.into_iter().for_each(|number| self.cancel(number, host));
                self.has_ended = true;
            }
        }
    }

    fn accept(&mut self, number: u64, call: C, host: &mut dyn ServiceHost<C>) {
        let (job, ResolvedJob { setup, name, admission }) = match host.resolve(&call) {
            Ok(resolved) => resolved,
            Err(reason) => return host.refuse(call, reason),
        };
        self.calls.insert(number, call);
        match admission {
            Admission::Admitted(admitted) => {
                self.queue.push_back(Task::new(number, 0, setup, (job, name), admitted));
            }
            Admission::Refused { report, .. } => {
                let answer = task::refuse(number, (&job, &name), &setup, *report, self.pool.cleanup());
                self.answer(answer, host);
            }
        }
    }

    fn cancel(&mut self, number: u64, host: &mut dyn ServiceHost<C>) {
        let queued = self.queue.iter().position(|task| task.number == number);
        let answer = match queued.and_then(|at| self.queue.remove(at)) {
            Some(task) => Some(task.answer(|setup| Report::cancelled(&setup.module, &setup.policy))),
            None => self.pool.cancel(number),
        };
        if let Some(answer) = answer {
            self.answer(answer, host);
        }
    }

    /// Gives queued jobs to slots, the oldest first. A job whose slot has no room lets others pass.
    fn hand_out(&mut self, host: &mut dyn ServiceHost<C>) -> Result<(), BatchError> {
        let mut at = 0;
        while at < self.queue.len() && self.pool.may_start() {
            let slot = self.pool.place(&self.queue[at].setup, false).map_err(BatchError::Wait)?;
            match slot.and_then(|slot| Some((slot, self.queue.remove(at)?))) {
                Some((slot, task)) => {
                    if let Some(answer) = self.pool.give(slot, task) {
                        self.answer(answer, host);
                    }
                }
                None => at += 1,
            }
        }
        self.pool.flush();
        Ok(())
    }

    fn answer(&mut self, answer: Answer, host: &mut dyn ServiceHost<C>) {
        let Answer { number, report, is_unaudited, .. } = answer;
        if let Some(call) = self.calls.remove(&number) {
            host.answer(call, Ended { report, is_unaudited });
        }
    }
}
