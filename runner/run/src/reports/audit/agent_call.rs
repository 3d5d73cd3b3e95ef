//! The call of an agent that a run was made for.

use modbox_python_json::Value;

use crate::reports::audit::arguments::shortened;

/// A call of a tool. What the client says of itself is its own claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentCall {
    /// Name of the tool.
    pub tool: String,
    /// Name and version of the client.
    pub client: String,
    /// Version of the protocol.
    pub protocol: String,
    /// Id of the request.
    pub request: String,
}

impl AgentCall {
    /// Returns what the log has of it.
    pub(super) fn to_value(&self) -> Value {
        let text = |text: &str| Value::from(shortened(text));
        [
            ("tool", text(&self.tool)),
            ("client", text(&self.client)),
            ("protocol", text(&self.protocol)),
            ("request", text(&self.request)),
        ]
        .into()
    }
}

/// What a person has decided about the plan of a call.
#[derive(Debug, Clone, Copy)]
pub struct AgentDecision<'a> {
    /// What the agent asked for.
    pub call: &'a AgentCall,
    /// How the person was asked, in one word.
    pub by: &'a str,
    /// What was decided, in one word.
    pub decision: &'a str,
    /// Time between the question and the decision, in milliseconds. A person needs more than a few.
    pub after_ms: u64,
}

impl AgentDecision<'_> {
    /// Returns what the log has of it.
    pub(super) fn to_value(self) -> Value {
        [("by", Value::from(self.by)), ("decision", self.decision.into()), ("after_ms", self.after_ms.into())].into()
    }
}
