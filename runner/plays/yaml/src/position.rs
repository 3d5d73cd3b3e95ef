//! Positions in files.

use std::fmt;
use std::sync::Arc;

/// A place in a file: where a node of YAML begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Position {
    /// The file as messages name it, or a name in angle brackets for text that is in no file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1; 0 where it is not known.
    pub column: u32,
}

impl Position {
    /// Returns the first place of a file.
    #[must_use]
    pub fn start_of(file: &str) -> Self {
        Self { file: file.into(), line: 1, column: 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column == 0 { Ok(()) } else { write!(f, ":{}", self.column) }
    }
}
