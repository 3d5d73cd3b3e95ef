//! The filters, tests, functions and lookups that a template names, for checks before anything runs.

use std::sync::Arc;

/// What a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mention {
    /// A filter. `is_certain` is false where Jinja looks for it only when it is reached.
    Filter { name: Arc<str>, line: u32, is_certain: bool },
    /// A test.
    Test { name: Arc<str>, line: u32, is_certain: bool },
    /// A lookup whose name is a literal.
    Lookup { name: Arc<str>, line: u32 },
}
