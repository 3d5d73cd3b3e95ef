//! The flags of a pattern.

/// What a pattern means, beside its text. What `(?i)` and the like in it say is added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// `re.I`
    pub ignore_case: bool,
    /// `re.M`
    pub multi_line: bool,
    /// `re.S`
    pub dot_all: bool,
    /// `re.X`
    pub verbose: bool,
    /// `re.A`
    pub ascii: bool,
}
