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
