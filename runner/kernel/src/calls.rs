//! What it means to refuse a system call. Which calls are, and why, is the `table`.

use std::fmt;

use crate::table::{COMMON, OLD};

/// Who is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// A process of modbox itself that runs a guest: it starts nothing, and its program is known.
    Guest,
    /// A native module, which is any program, in a file system and a network of its own.
    Native,
    /// A native module among everybody else's files, where namespaces are not to be had.
    NativeOnHost,
}

/// Calls that are refused for one reason.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// Why.
    pub reason: &'static str,
    /// When.
    pub refused: Refused,
    /// Which.
    pub calls: &'static [Call],
    /// For whom.
    pub(super) whom: Whom,
}

/// Whom a refusal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    All,
    Guests,
    Natives,
    Only(Profile),
}

impl Whom {
    fn is(self, profile: Profile) -> bool {
        match self {
            Self::All => true,
            Self::Guests => profile == Profile::Guest,
            Self::Natives => profile != Profile::Guest,
            Self::Only(only) => profile == only,
        }
    }
}

/// A system call.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Its name in the C library, `SYS_mount`, or without `SYS_`.
    pub(super) name: &'static str,
    pub(super) number: i64,
}

impl Call {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name.strip_prefix("SYS_").unwrap_or(self.name)
    }

    /// Returns its number on this architecture.
    #[must_use]
    pub fn number(&self) -> i64 {
        self.number
    }
}

/// When a call is refused. Numbers are those of its arguments, from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Whatever its arguments are.
    Always,
    /// Always, unless a network is granted.
    WithoutNetwork,
    /// Always without a network; with one, for sockets that are not TCP or UDP.
    OtherSockets {
        /// The family.
        family: u8,
        /// The type.
        kind: u8,
    },
    /// With set-user-id or set-group-id in the mode.
    SetId {
        /// The mode.
        mode: u8,
        /// The flags of opening, which say whether a mode is given.
        flags: Option<u8>,
    },
    /// To start anything but a thread.
    Processes {
        /// The flags.
        flags: u8,
    },
    /// To make a namespace.
    Namespaces {
        /// The flags.
        flags: u8,
    },
    /// On another process.
    OtherProcesses {
        /// The process.
        pid: u8,
    },
    /// When there is a value to be set.
    Given {
        /// The pointer to it.
        argument: u8,
    },
    /// For these requests.
    Requests {
        /// The request.
        argument: u8,
        /// Which.
        requests: &'static [u32],
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::WithoutNetwork => "unless a network is granted",
            Self::OtherSockets { .. } => "but for TCP and UDP where a network is granted",
            Self::SetId { .. } => "with a set-id bit",
            Self::Processes { .. } => "but for threads",
            Self::Namespaces { .. } => "with a new namespace",
            Self::OtherProcesses { .. } => "on other processes",
            Self::Given { .. } => "to set a value",
            Self::Requests { .. } => "for some requests",
        })
    }
}

/// The flags of `clone` that make a namespace: mount, control group, host name, IPC, user, process, network.
pub(super) const NAMESPACES: [u32; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// `clone3` and `openat2` have their flags in memory.
const CLONE3: i64 = 435;
const OPENAT2: i64 = 437;

/// Calls that are said not to exist, so that programs take an older one, which a filter can read.
pub(super) fn unreadable(profile: Profile) -> &'static [i64] {
    match profile {
        Profile::Guest => &[CLONE3],
        Profile::Native | Profile::NativeOnHost => &[CLONE3, OPENAT2],
    }
}

/// Lists what a profile is refused.
pub fn refusals(profile: Profile) -> impl Iterator<Item = &'static Refusal> {
    let all = COMMON.iter().chain(OLD);
    all.filter(move |refusal| refusal.whom.is(profile))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_call_is_refused_for_one_reason() {
        for profile in [Profile::Guest, Profile::Native, Profile::NativeOnHost] {
            let mut seen = BTreeSet::new();
            for call in refusals(profile).flat_map(|refusal| refusal.calls) {
                assert!(seen.insert(call.number()), "{profile:?}: {} twice", call.name());
            }
            assert!(seen.len() > 50);
        }
    }
}
