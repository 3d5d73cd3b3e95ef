//! The person or the agent that settings are for. What a person may do is not what the person's agent may do: only policy files
//! with the key `tools` grant to it, while all of them restrict. Its arguments grant nothing, and its runs are always confined.

use modbox_policy::{Designated, Policy, PolicyFile, Rules};
use modbox_vocabulary::GrantSource;

/// The least level of confinement of a tool.
const LEAST: u8 = 2;

/// Name of the source of what holds for every tool.
const SOURCE: &str = "modbox mcp";

/// The person or the agent that settings are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The person at the command line.
    Person,
    /// An agent.
    Agent {
        /// Whether tools only read.
        reads_only: bool,
    },
}

impl Audience {
    /// Returns what of a policy file counts, and whether that only restricts.
    pub(super) fn sees(self, file: PolicyFile) -> (PolicyFile, bool) {
        match self {
            Self::Person => (file, false),
            // Rules for tasks are for plays, which an agent does not have.
            // Nor is a tool unconfined.
            Self::Agent { .. } if file.tools.is_some() => (PolicyFile { tasks: Vec::new(), ..file.confined() }, false),
            Self::Agent { .. } => (PolicyFile { tasks: Vec::new(), ..file.without_grants() }, true),
        }
    }

    /// Adds what holds for every tool to the rules of the command line.
    pub(super) fn switches(self, switches: Rules) -> Rules {
        match self {
            Self::Person => switches,
            Self::Agent { .. } => Rules {
                source: Some(GrantSource::named(SOURCE)),
                designated: Some(Designated::None),
                designated_by_results: Some(Designated::None),
                min_confinement: Some(LEAST),
                narrows: true,
                ..switches
            },
        }
    }

    /// Takes away what is not given to a run, whatever is granted.
    pub(super) fn withhold(self, policy: Policy) -> Policy {
        match self {
            Self::Person | Self::Agent { reads_only: false } => policy,
            Self::Agent { reads_only: true } => policy.read_only().without_network().without_commands_outside(),
        }
    }
}
