//! Errors in a policy file.

use std::fmt::{self, Write as _};

use crate::written::node::Place;

/// One error in a policy file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyFileProblem {
    /// The position. `None` when the text is not YAML and the parser did not report a position.
    pub place: Option<Place>,
    /// The message.
    pub message: String,
}

impl fmt::Display for PolicyFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "{} at {place}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// All errors of a policy file, in order. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFileError(pub Vec<PolicyFileProblem>);

/// Maximum number of errors in the message of a run; `modbox policy check` shows all.
const SHOWN: usize = 3;

impl fmt::Display for PolicyFileError {
    // One line, because `modbox FILE ARGSFILE` puts the message into a result.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.iter().take(SHOWN).map(PolicyFileProblem::to_string).collect();
        // A key or a value may have any characters.
        for character in shown.join("; ").chars() {
            match character.is_control() {
                true => write!(f, "{}", character.escape_default())?,
                false => f.write_char(character)?,
            }
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; and {more} more, see `modbox policy check`"),
        }
    }
}

impl std::error::Error for PolicyFileError {}
