//! The capabilities that a policy can grant, and a grant as reports list it.

use serde::{Deserialize, Serialize};

use crate::grant_source::GrantSource;

/// The capability that a grant permits.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Capability {
    /// Reading a file or a directory.
    Read,
    /// Reading, changing, creating and removing a file or the contents of a directory.
    Write,
    /// Changing the owner of files to another user or group.
    Own,
    /// Seeing an environment variable.
    Env,
    /// Connecting to a host.
    Net,
    /// Listening on an address.
    Listen,
    /// Running a command.
    Run,
    /// Running a command outside of the module's room, as the task's user.
    Outside,
    /// Running with less of the kernel's confinement than the policy requires.
    Confinement,
    /// Everything: the module is trusted like its caller.
    All,
}

impl Capability {
    /// Returns the word that reports, policies and `--allow-*` options use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One grant of a run, as a report lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The permitted capability.
    pub capability: Capability,
    /// The path, the name or the rule; `*` for everything.
    pub subject: String,
    /// The source of the grant: an option, a policy file, an argument.
    pub source: GrantSource,
}
