//! The kinds of plugins that a template names.

use std::fmt;

/// The kind of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PluginKind {
    /// A filter.
    Filter,
    /// A test.
    Test,
    /// A lookup. This crate has none; an engine does.
    Lookup,
}

impl PluginKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Filter, Self::Test, Self::Lookup];

    /// Returns Ansible's word for the kind, of which the names of its folders and settings are made.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Test => "test",
            Self::Lookup => "lookup",
        }
    }

    /// Returns the name of the folder with such plugins beside a play or in a role.
    #[must_use]
    pub fn folder(self) -> String {
        format!("{}_plugins", self.word())
    }
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
