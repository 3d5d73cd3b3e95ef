//! The body of a request.

use std::path::PathBuf;

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Body {
    /// No body.
    #[default]
    None,
    /// Bytes.
    Bytes(Vec<u8>),
    /// The contents of a file, which is read while it is sent.
    File(PathBuf),
}
