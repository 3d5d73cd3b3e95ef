//! A call of a tool on its way from the client to who serves it, with its answer on the way back.

use std::time::{Duration, Instant};

use modbox_python_json::Dict;
use tokio::sync::oneshot;

use crate::answer::Answer;

/// The first of the times at which evened outcomes are told.
const FIRST_STEP: Duration = Duration::from_millis(500);

/// The longest time between two of them.
const LAST_STEP: Duration = Duration::from_secs(8);

/// Who calls, as the protocol says it. The name of the client is its own claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// Name and version of the client; empty if it gives none.
    pub client: String,
    /// Version of the protocol.
    pub protocol: String,
    /// The id of the request.
    pub request: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Number of the call, counted from 1.
    pub number: u64,
    /// Place of the tool in the list.
    pub tool: usize,
    /// The arguments.
    pub arguments: Dict,
    /// Who calls.
    pub caller: Caller,
}

/// An order of the client.
#[derive(Debug)]
pub enum Order {
    /// Run a call and answer it, or ask.
    Run(Box<Call>, Reply),
    /// Do what a person has decided about the plan of a call, and answer the call.
    Decide(Box<Call>, Box<Decided>, Reply),
    /// The call with this number is not wanted any more.
    Cancel(u64),
}

/// What a person has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The changes are made.
    Apply,
    /// They are not.
    Discard,
    /// Nothing: the question was closed.
    Open,
}

impl Decision {
    /// Returns the word of the audit log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Discard => "discard",
            Self::Open => "open",
        }
    }
}

/// A decision about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// What the client gives as the name of the plan.
    pub plan: String,
    /// What was decided.
    pub decision: Decision,
}

/// What a call leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its answer.
    Answer(Box<Answer>),
    /// A question to a person.
    Question(Box<PendingQuestion>),
    /// One of these, of which the client must not know when it was found: how long a run took can tell what it has read.
    Evened {
        /// What is told.
        outcome: Box<Self>,
        /// When it is told, of [`Reply::evened_at`].
        at: Instant,
    },
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        Self::Answer(Box::new(answer))
    }
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingQuestion {
    /// Name of the plan that it is about.
    pub plan: String,
    /// What is asked.
    pub text: String,
    /// The answer of the call if the client does not ask, or gets no answer.
    pub unasked: Answer,
}

/// The way back of an answer. A call whose reply is dropped is answered as lost.
#[derive(Debug)]
pub struct Reply {
    sender: oneshot::Sender<Outcome>,
    arrived: Instant,
}

impl Reply {
    /// Makes the way back of a call that has arrived at a time.
    pub(super) fn new(sender: oneshot::Sender<Outcome>, arrived: Instant) -> Self {
        Self { sender, arrived }
    }

    /// Returns the next of few times at which an outcome is told that must not tell how long a run took.
    #[must_use]
    pub fn evened_at(&self) -> Instant {
        evened_at(self.arrived)
    }

    /// Returns whether the client still waits for the outcome.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends the outcome. Nothing happens if it is not wanted any more.
    pub fn send(self, outcome: Outcome) {
        let _ = self.sender.send(outcome);
    }
}

/// Returns the next of few times after an arrival.
pub(super) fn evened_at(arrived: Instant) -> Instant {
    arrived + evened(arrived.elapsed())
}

/// Returns the next of few times: half a second, doubled up to eight, then every eight.
fn evened(elapsed: Duration) -> Duration {
    let mut step = FIRST_STEP;
    while step < elapsed && step < LAST_STEP {
        step *= 2;
    }
    let steps = elapsed.as_millis().div_ceil(step.as_millis()).max(1);
    step * u32::try_from(steps).unwrap_or(u32::MAX)
}

/// Calls that run or wait at most. More are refused: a client that sends this many has lost its way.
pub const MAX_CALLS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_times_tell_of_many_runs() {
        for (elapsed, expect) in
            [(0, 500), (20, 500), (500, 500), (501, 1000), (3000, 4000), (7999, 8000), (8001, 16000), (17000, 24000)]
        {
            assert_eq!(evened(Duration::from_millis(elapsed)), Duration::from_millis(expect), "{elapsed}");
        }
    }
}
