//! Missing grants: observed ones and guessed ones.

use serde::{Deserialize, Serialize};

use crate::capability::Capability;
use crate::operation::Operation;

/// A use that the policy does not grant. It was observed by the guard around the engine, by the kernel, or by a check
/// before the start.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Denial {
    /// The missing grant.
    pub capability: Capability,
    /// The path, address or name, as the module gave it.
    pub subject: String,
    /// The operation that was denied.
    pub operation: Operation,
    /// The option of `modbox run` that would allow it, quoted for a shell. For a relative path, also the argument to
    /// give instead. Empty when no grant can allow it.
    pub allow: String,
}

impl Denial {
    /// Returns what was denied and what allows it, in words for people.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { capability, subject, operation, allow } = self;
        let attempt = match capability {
            Capability::Read => format!("reading `{subject}`"),
            Capability::Write => format!("changing `{subject}`"),
            Capability::Own if *operation == Operation::SetId => format!("setting a set-id bit of `{subject}`"),
            Capability::Own => format!("changing the owner of `{subject}`"),
            Capability::Env => format!("the variable `{subject}`"),
            Capability::Net => format!("connecting to `{subject}`"),
            Capability::Listen => format!("listening at `{subject}`"),
            Capability::Run => format!("running `{subject}`"),
            Capability::Outside => format!("running `{subject}` outside of the sandbox"),
            Capability::Confinement if *operation == Operation::Call => format!("the system call `{subject}`"),
            Capability::Confinement => format!("starting with less confinement (`{subject}`)"),
            Capability::All => format!("`{subject}`"),
        };
        match allow.as_str() {
            "" => format!("{attempt} was denied, and no option allows it"),
            "--allow-all" => format!("{attempt} was denied; only `--allow-all` allows it"),
            allow => format!("{attempt} was denied; allow it with `{allow}`"),
        }
    }
}

impl Hint {
    /// Returns the guess in words for people.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { capability, subject, source, allow } = self;
        let source = match source {
            HintSource::Arguments => "the arguments name",
            HintSource::Output => "the output names",
        };
        let what = if *capability == Capability::Env { "the variable " } else { "" };
        format!("{source} {what}`{subject}`, and nothing grants it; `{allow}` does")
    }
}

/// A guess at a missing grant, made from the arguments or the output of a failed module. It was not observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The grant that may be missing.
    pub capability: Capability,
    /// The path or the name.
    pub subject: String,
    /// The source of the subject.
    pub source: HintSource,
    /// The option of `modbox run` that would grant it, quoted for a shell.
    pub allow: String,
}

/// The place where the subject of a [`Hint`] was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HintSource {
    /// In the arguments of the run.
    Arguments,
    /// In the module's output.
    Output,
}

/// The denials of one run in the order of the attempts, without duplicates and limited in number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialLog {
    listed: Vec<Denial>,
    omitted: u64,
}

impl DenialLog {
    /// Maximum number of listed denials. A module with more is scanning, and the first ones are enough to see that.
    pub const MAX_LISTED: usize = 64;

    /// Returns the log of denials that an observer has collected, without repetitions and within a bound of its own. With
    /// `is_cut`, at least one more is not listed.
    #[must_use]
    pub fn of_observer(denials: Vec<Denial>, is_cut: bool) -> Self {
        Self { listed: denials, omitted: is_cut.into() }
    }

    /// Adds a denial unless the same one is listed. `allow` makes [`Denial::allow`] and is called only if the denial is
    /// added.
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

    /// Adds the denials of another part of the same run.
    pub fn extend(&mut self, other: Self) {
        for denial in other.listed {
            let Denial { capability, subject, operation, allow } = denial;
            self.record(capability, &subject, operation, || allow);
        }
        self.omitted += other.omitted;
    }

    /// Returns the listed denials.
    #[must_use]
    pub fn listed(&self) -> &[Denial] {
        &self.listed
    }

    /// Returns the number of denials that are not listed.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.omitted
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
    fn a_denial_says_what_allows_it() {
        let denial = |capability, subject: &str, operation, allow: &str| Denial {
            capability,
            subject: subject.to_owned(),
            operation,
            allow: allow.to_owned(),
        };
        let read = denial(Capability::Read, "/srv/x", Operation::Open, "--designate src:read");
        assert_eq!(read.message(), "reading `/srv/x` was denied; allow it with `--designate src:read`");
        let call = denial(Capability::Confinement, "bpf", Operation::Call, "--allow-all");
        assert_eq!(call.message(), "the system call `bpf` was denied; only `--allow-all` allows it");
        let special = denial(Capability::Write, "/dev/x", Operation::Write, "");
        assert_eq!(special.message(), "changing `/dev/x` was denied, and no option allows it");
    }

    #[test]
    fn a_denial_is_written_in_the_words_of_reports() {
        let mut log = DenialLog::default();
        log.record(Capability::Write, "/etc/motd", Operation::CreateDirectoryAt, String::new);
        let json = r#"{"capability":"write","subject":"/etc/motd","operation":"create-directory-at","allow":""}"#;
        assert_eq!(serde_json::to_string(&log.listed()[0]).unwrap(), json);
        assert_eq!(serde_json::from_str::<Denial>(json).unwrap(), log.listed()[0]);
        // A word that this build does not know is never read as another one.
        for known in ["write", "create-directory-at"] {
            for word in ["unheard-of", "use", "", "Write"] {
                let unknown = serde_json::from_str::<Denial>(&json.replace(known, word)).unwrap_err();
                assert!(unknown.to_string().contains("unknown variant"), "{unknown}");
            }
        }
    }
}
