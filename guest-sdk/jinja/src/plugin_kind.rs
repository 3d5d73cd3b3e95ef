//! The kinds of plugins that a template names.

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
