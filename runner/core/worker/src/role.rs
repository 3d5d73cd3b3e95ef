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
    /// Makes and keeps the overlays of an ordinary user, in namespaces of its own.
    Mounts,
    /// Speaks with a registry.
    Transfer,
    /// Starts the commands of one native module that run outside of its room.
    Outside,
}

/// First message to a worker.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pub(crate) role: Role,
    /// Process id of the monitor.
    pub(crate) monitor: u32,
    /// Owner of the mounts that the worker gets, if they are not those of the monitor.
    pub(crate) mounts_of: Option<MountsOf>,
}

/// Owner of mounts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum MountsOf {
    /// A thread of the monitor.
    Thread(u32),
    /// A process of the same user, in namespaces of its own.
    Process(u32),
}
