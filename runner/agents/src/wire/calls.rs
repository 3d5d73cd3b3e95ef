//! A call of a tool on its way from the client to who serves it, with its answer on the way back.

use modbox_python_json::Dict;
use tokio::sync::oneshot;

use crate::answer::Answer;

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
    Evened(Box<Self>),
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
pub struct Reply(pub(super) oneshot::Sender<Outcome>);

impl Reply {
    /// Returns whether the client still waits for the outcome.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !self.0.is_closed()
    }

    /// Sends the outcome. Nothing happens if it is not wanted any more.
    pub fn send(self, outcome: Outcome) {
        let _ = self.0.send(outcome);
    }
}

/// Calls that run or wait at most. More are refused: a client that sends this many has lost its way.
pub const MAX_CALLS: usize = 64;
