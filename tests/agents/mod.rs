//! Modules as tools of agents: `modbox mcp`.

pub(crate) mod client;
pub(crate) mod mcp_ask;
pub(crate) mod mcp_attacks;
pub(crate) mod mcp_decisions;
pub(crate) mod mcp_find;
pub(crate) mod mcp_gate;
pub(crate) mod mcp_network;
pub(crate) mod mcp_start;
pub(crate) mod mcp_tools;
pub(crate) mod mcp_undo;
mod mcp_untold;
