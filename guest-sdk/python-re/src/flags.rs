//! The flags of a pattern.

/// The flags of a pattern. Flags inside the pattern, such as `(?i)`, are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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
