//! The roles of workers, and the message that assigns one.

use modbox_channel::Framing;
use serde::{Deserialize, Serialize};

/// Framing of the first message.
pub(crate) const ASSIGNMENTS: Framing = Framing::new(1 << 10);

/// Job of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Runs guests of one module.
    Guest,
    /// Launches one native module and watches its processes.
    Launcher,
}

/// First message to a worker.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) role: Role,
    /// Process id of the monitor.
    pub(crate) monitor: u32,
    /// Thread of the monitor whose mounts the worker gets, if that thread has its own.
    pub(crate) mounts_of: Option<u32>,
}
