//! Missing grants: those that were observed, and those that are guessed.

use serde::{Deserialize, Serialize};

use crate::capability::Capability;
use crate::operation::Operation;

/// Something that a run needs, or tried, and that the policy does not grant. Observed: by the guard around the engine, by the
/// kernel, or by a check before the start.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Denial {
    /// The grant that is missing.
    pub capability: Capability,
    /// The path, the address or the name, as the module gave it.
    pub subject: String,
    /// What was refused.
    pub operation: Operation,
    /// The option of `modbox run` that would allow it, quoted for a shell, and the argument to give instead when a path was
    /// relative. Empty where no grant can.
    pub allow: String,
}

/// A guess at a missing grant, made from what a failed module was given or printed. Nothing was observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The grant that may be missing.
    pub capability: Capability,
    /// The path or the name.
    pub subject: String,
    /// Where it was found.
    pub source: HintSource,
    /// The option of `modbox run` that would grant it, quoted for a shell.
    pub allow: String,
}

/// Where the subject of a [`Hint`] was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HintSource {
    /// In the arguments of the run.
    Arguments,
    /// In what the module printed.
    Output,
}

/// Denials of one run, in the order of the attempts: each once, and no more than a report can use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialLog {
    listed: Vec<Denial>,
    omitted: u64,
}

impl DenialLog {
    /// Most denials that are listed. A module that tries more is scanning; the first ones say enough.
    pub const MAX_LISTED: usize = 64;

    /// Adds a denial, unless the same attempt is listed. `allow` makes [`Denial::allow`] and is called only if there is
    /// room.
    pub fn record(
        &mut self,
        capability: Capability,
        subject: &str,
        operation: Operation,
        allow: impl FnOnce() -> String,
    ) {
        let same = |denial: &Denial| {
            denial.capability == capability && denial.operation == operation && denial.subject == subject
        };
        if self.listed.iter().any(same) {
            return;
        }
        if self.listed.len() >= Self::MAX_LISTED {
            self.omitted += 1;
            return;
        }
        self.listed.push(Denial { capability, subject: subject.to_owned(), operation, allow: allow() });
    }

    /// Adds what another part of the same run recorded.
    pub fn extend(&mut self, other: Self) {
        for denial in other.listed {
            let Denial { capability, subject, operation, allow } = denial;
            self.record(capability, &subject, operation, || allow);
        }
        self.omitted += other.omitted;
    }

    /// Returns the denials that are listed.
    #[must_use]
    pub fn listed(&self) -> &[Denial] {
        &self.listed
    }

    /// Returns how many attempts were refused beyond those that are listed.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

impl From<Vec<Denial>> for DenialLog {
    fn from(denials: Vec<Denial>) -> Self {
        let mut log = Self::default();
        log.extend(Self { listed: denials, omitted: 0 });
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(attempts: impl IntoIterator<Item = u32>) -> DenialLog {
        let mut log = DenialLog::default();
        for attempt in attempts {
            let allow = || format!("--allow-read /{attempt}");
            log.record(Capability::Read, &format!("/{attempt}"), Operation::OpenAt, allow);
        }
        log
    }

    #[test]
    fn denials_are_listed_once_and_counted_beyond_their_bound() {
        let log = log((0..70).chain(0..64));
        assert_eq!((log.listed().len(), log.omitted()), (64, 6));
        assert_eq!(log.listed()[3].allow, "--allow-read /3");
    }

    #[test]
    fn logs_add_up_within_the_same_bound() {
        let mut sum = log(0..60);
        sum.extend(log(50..70));
        assert_eq!((sum.listed().len(), sum.omitted()), (64, 6));
    }

    #[test]
    fn a_denial_is_written_in_the_words_of_reports() {
        let mut log = DenialLog::default();
        log.record(Capability::Write, "/etc/motd", Operation::CreateDirectoryAt, String::new);
        let json = r#"{"capability":"write","subject":"/etc/motd","operation":"create-directory-at","allow":""}"#;
        assert_eq!(serde_json::to_string(&log.listed()[0]).unwrap(), json);
        assert_eq!(serde_json::from_str::<Denial>(json).unwrap(), log.listed()[0]);
        assert!(serde_json::from_str::<Denial>(&json.replace("write", "unheard-of")).is_err());
    }
}
