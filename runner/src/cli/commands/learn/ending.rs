//! How learning ended, and what the user and the policy file say of it.

/// How learning ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// The module succeeded.
    Green,
    /// A failed round taught nothing new.
    Stuck,
    /// The next options reach the machine.
    Effects(Vec<String>),
    /// There were too many rounds.
    TooLong,
}

impl Ending {
    /// Describes the ending for the user.
    pub(super) fn said(&self) -> String {
        match self {
            Self::Green => "learned".to_owned(),
            Self::Stuck => "stuck: the last run failed and names no further option".to_owned(),
            Self::TooLong => "stopped after too many rounds".to_owned(),
            Self::Effects(options) => format!(
                "stopped, since the next options reach more than copies: {}; `--learn-effects` goes on with them",
                options.join(" ")
            ),
        }
    }

    /// Returns the remark for the policy file.
    pub(super) fn remark(&self) -> Option<String> {
        match self {
            Self::Green => None,
            Self::Stuck => Some("the module did not succeed, and named nothing more that it lacks".to_owned()),
            Self::TooLong => Some("the module did not succeed within the rounds".to_owned()),
            Self::Effects(options) => {
                let options = options.join(" ");
                Some(format!("not tried, since they reach more than copies: {options}; `--learn-effects` tries them"))
            }
        }
    }

    /// Returns whether an option was left out because of its effects.
    pub(super) fn left_out(&self, allow: &str) -> bool {
        matches!(self, Self::Effects(options) if options.iter().any(|option| option == allow))
    }
}
