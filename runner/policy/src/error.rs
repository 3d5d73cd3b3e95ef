//! What is wrong with grants, by themselves or together.

/// Why grants contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A read-only grant that a writable one around it would void.
    #[error(
        "`{inner}` is granted for reading inside `{outer}`, which is granted for writing ({inner_source}; {outer_source}); \
         drop the inner grant, or map it elsewhere (`{inner}::/GUEST/PATH`)"
    )]
    ReadInsideWrite {
        /// The read-only one.
        inner: String,
        /// Who granted it.
        inner_source: String,
        /// The writable one.
        outer: String,
        /// Who granted that.
        outer_source: String,
    },
    /// A grant in the place of what every guest has.
    #[error("`{guest}` is every guest's own; map the grant elsewhere (`{host}::/GUEST/PATH`)")]
    Reserved {
        /// Where it was to be seen.
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
        /// Where both would be.
        guest: String,
    },
}

impl PolicyError {
    /// Returns where the guest would see the grant that is at fault.
    #[must_use]
    pub fn guest(&self) -> &str {
        match self {
            Self::ReadInsideWrite { inner, .. } => inner,
            Self::Reserved { guest, .. } | Self::SamePlace { guest, .. } => guest,
        }
    }
}
