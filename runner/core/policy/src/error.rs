//! Errors in grants and between grants.

/// A contradiction between grants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A read-only grant inside a writable one, which would make it void.
    #[error(
        "`{inner}` is granted for reading inside `{outer}`, which is granted for writing ({inner_source}; {outer_source}); \
         drop the inner grant, or map it elsewhere (`{inner}::/GUEST/PATH`)"
    )]
    ReadInsideWrite {
        /// The read-only grant.
        inner: String,
        /// Its source.
        inner_source: String,
        /// The writable grant.
        outer: String,
        /// Its source.
        outer_source: String,
    },
    /// A grant in the place of a directory or file that every guest has.
    #[error("`{guest}` is reserved in every guest; map the grant elsewhere (`{host}::/GUEST/PATH`)")]
    Reserved {
        /// The path in the guest.
        guest: String,
        /// The host path.
        host: String,
    },
    /// Two host paths in one place.
    #[error("both `{first}` and `{second}` are mapped to `{guest}`; map one of them elsewhere")]
    SamePlace {
        /// One host path.
        first: String,
        /// The other.
        second: String,
        /// The path of both in the guest.
        guest: String,
    },
}

impl PolicyError {
    /// Returns the guest path of the grant that is in error.
    #[must_use]
    pub fn guest(&self) -> &str {
        match self {
            Self::ReadInsideWrite { inner, .. } => inner,
            Self::Reserved { guest, .. } | Self::SamePlace { guest, .. } => guest,
        }
    }
}
