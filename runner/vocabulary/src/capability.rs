//! What a policy can grant, and one grant of it as reports list it.

use serde::{Deserialize, Serialize};

/// What a grant permits.
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
    /// Reading, changing, creating and removing a file or what is in a directory.
    Write,
    /// Giving files to another user or group.
    Own,
    /// Seeing an environment variable.
    Env,
    /// Reaching a host.
    Net,
    /// Listening on an address.
    Listen,
    /// Running a command.
    Run,
    /// Running with less of the kernel's confinement than the policy asks for.
    Confinement,
    /// Everything: the module is trusted as its caller.
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
    /// What it permits.
    pub capability: Capability,
    /// The path, the name or the rule; `*` for everything.
    pub subject: String,
    /// What granted it: an option, a policy file, an argument.
    pub source: String,
}
