//! Limits for walking values, and the errors of values.
//!
//! A list that holds another list twice, and so on for forty levels, is small in memory and endless to walk. Every
//! recursive function of this crate counts its steps and its depth.

/// How deep values may nest: what Python's recursion limit leaves for them.
pub(crate) const MAX_DEPTH: usize = 900;

/// How many values one operation may visit.
const MAX_STEPS: usize = 50_000_000;

/// How long a text made of values may become, in bytes.
const MAX_TEXT: usize = 64 * 1024 * 1024;

/// A failed operation on values, in Python's words where Python has some.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Values that Python does not order.
    #[error("'{operator}' not supported between instances of '{left}' and '{right}'")]
    Unordered {
        /// The operator.
        operator: &'static str,
        /// The type on the left.
        left: &'static str,
        /// The type on the right.
        right: &'static str,
    },
    /// A list or dict where a hash is needed.
    #[error("unhashable type: '{0}'")]
    Unhashable(&'static str),
    /// A value that cannot be iterated.
    #[error("'{0}' object is not iterable")]
    NotIterable(&'static str),
    /// A value that JSON lacks.
    #[error("Object of type {0} is not JSON serializable")]
    NotJson(&'static str),
    /// A key that JSON lacks.
    #[error("keys must be str, int, float, bool or None, not {0}")]
    NotJsonKey(&'static str),
    /// An undefined value.
    #[error("the value is undefined")]
    Undefined,
    /// Values nested too deeply.
    #[error("maximum recursion depth exceeded")]
    TooDeep,
    /// A walk over too many values, or a text that is too long.
    #[error("the value is too large")]
    TooLarge,
}

/// The limits of one operation.
#[derive(Debug)]
pub struct Walk {
    depth: usize,
    steps: usize,
}

impl Default for Walk {
    fn default() -> Self {
        Self { depth: 0, steps: MAX_STEPS }
    }
}

impl Walk {
    /// Counts one visited value.
    ///
    /// # Errors
    ///
    /// Too many values were visited.
    pub fn step(&mut self) -> Result<(), ValueError> {
        self.steps = self.steps.checked_sub(1).ok_or(ValueError::TooLarge)?;
        Ok(())
    }

    /// Counts visited values.
    ///
    /// # Errors
    ///
    /// Too many values were visited.
    pub(crate) fn steps(&mut self, count: usize) -> Result<(), ValueError> {
        self.steps = self.steps.checked_sub(count).ok_or(ValueError::TooLarge)?;
        Ok(())
    }

    /// Returns how many values were visited.
    pub(crate) fn visited(&self) -> usize {
        MAX_STEPS - self.steps
    }

    /// Runs a visit one level deeper.
    ///
    /// # Errors
    ///
    /// The values nest too deeply, or the visit failed.
    pub fn deeper<T, E: From<ValueError>>(&mut self, visit: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        if self.depth >= MAX_DEPTH {
            return Err(ValueError::TooDeep.into());
        }
        self.step()?;
        self.depth += 1;
        let visited = visit(self);
        self.depth -= 1;
        visited
    }

    /// Checks the length of a text that is being made.
    ///
    /// # Errors
    ///
    /// The text is too long.
    pub fn fits(text: &str) -> Result<(), ValueError> {
        if text.len() > MAX_TEXT { Err(ValueError::TooLarge) } else { Ok(()) }
    }
}
