//! The body of a request.

use std::path::PathBuf;

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// Bytes.
    Bytes(Vec<u8>),
    /// What a file holds; it is read as it is sent.
    File(PathBuf),
}
