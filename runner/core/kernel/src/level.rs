//! The level of the kernel's confinement, and what this kernel supports.

pub use modbox_policy::{DEFAULT_LEAST, HIGHEST_LEVEL as HIGHEST};

use crate::{landlock, system};

/// No confinement.
const NONE: u8 = 0;

/// Limits of the process, and no new privileges.
const PROCESS: u8 = 1;

/// The same, with Landlock and seccomp.
const RULES: u8 = 2;

/// Describes a level.
#[must_use]
pub fn describe(level: u8) -> &'static str {
    match level {
        NONE => "nothing but the engine",
        PROCESS => "limits of the process and no new privileges",
        RULES => "Landlock, seccomp, limits of the process and no new privileges",
        _ => "namespaces, Landlock, seccomp, limits of the process and no new privileges",
    }
}

/// Returns the level of the confinement in force.
pub(super) fn of(rules: bool, process: bool) -> u8 {
    match (process, rules) {
        (false, _) => NONE,
        (true, false) => PROCESS,
        (true, true) => RULES,
    }
}

/// What this kernel supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The version of Landlock, or why it is unavailable.
    pub landlock: Result<u32, String>,
    /// Whether a filter of system calls can be installed.
    pub seccomp: bool,
}

/// Asks the kernel what it supports. Applies nothing.
#[must_use]
pub fn probe() -> Probe {
    let landlock = system::landlock_abi().map_err(landlock::unavailable);
    Probe { landlock, seccomp: system::has_seccomp() }
}

impl Probe {
    /// Returns the level that a guest without a network would reach.
    #[must_use]
    pub fn level(&self) -> u8 {
        let landlock = self.landlock.as_ref().is_ok_and(|abi| *abi >= landlock::COMPLETE);
        of(landlock && self.seccomp, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_needs_all_of_it() {
        assert_eq!(of(false, false), 0);
        assert_eq!(of(true, false), 0);
        assert_eq!(of(false, true), 1);
        assert_eq!(of(true, true), DEFAULT_LEAST);
        let probe = |landlock: Result<u32, String>, seccomp| Probe { landlock, seccomp }.level();
        assert_eq!(probe(Ok(7), true), 2);
        assert_eq!(probe(Ok(2), true), 1);
        assert_eq!(probe(Ok(7), false), 1);
        assert_eq!(probe(Err("none".to_owned()), true), 1);
    }
}
