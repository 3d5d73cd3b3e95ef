//! Commands that ran outside of a module's sandbox, as reports list them.

use serde::{Deserialize, Serialize};

use crate::grant_source::GrantSource;

/// A command that ran outside of a module's sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideRun {
    /// The program and its arguments, quoted for a shell.
    pub command: String,
    /// The rule that permits it, with the names that it is bound to.
    pub rule: String,
    /// The source of the rule.
    pub source: GrantSource,
    /// The name of the user as which it ran.
    #[serde(rename = "as")]
    pub user: String,
    /// How it ended.
    pub end: OutsideEnd,
    /// How long it ran, in microseconds.
    pub wall_us: u64,
}

impl OutsideRun {
    /// Maximum number in a report. The others are counted in a note.
    pub const MAX_LISTED: usize = 256;
}

/// The end of a command outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutsideEnd {
    /// It exited with this status.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// It ran longer than its limit, and was ended.
    Limit,
    /// It was asked to end, since the process that had started it was gone, and still ran when the run was over.
    Left,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_written_in_the_words_of_reports() {
        let mut run = OutsideRun {
            command: "useradd -m app".to_owned(),
            rule: "useradd {-m} <user>".to_owned(),
            source: GrantSource::named("test"),
            user: "root".to_owned(),
            end: OutsideEnd::Exit(9),
            wall_us: 7,
        };
        let json = r#"{"command":"useradd -m app","rule":"useradd {-m} <user>","source":"test","as":"root","end":{"exit":9},"wall_us":7}"#;
        assert_eq!(serde_json::to_string(&run).unwrap(), json);
        assert_eq!(serde_json::from_str::<OutsideRun>(json).unwrap(), run);
        run.end = OutsideEnd::Limit;
        assert!(serde_json::to_string(&run).unwrap().contains(r#""end":"limit""#));
    }
}
