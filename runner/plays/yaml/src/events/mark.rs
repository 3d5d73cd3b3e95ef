//! Places in a text.

/// A place in a text, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// Characters before it.
    pub(super) index: usize,
    /// Lines before it.
    pub(crate) line: u32,
    /// Characters before it in its line.
    pub(crate) column: u32,
}

impl Mark {
    /// Returns the column as a level of indentation.
    pub(super) fn indent(self) -> i64 {
        i64::from(self.column)
    }
}
