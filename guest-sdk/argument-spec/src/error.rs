//! Why a spec or a module's metadata cannot be used.

use modbox_python_json::DecodeError;

/// What is wrong with an argument spec or with metadata.
///
/// Options are named by their dotted path (`users.name`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is no JSON document.
    #[error("failed to read the metadata as JSON")]
    Json(#[source] DecodeError),
    /// The text is longer than [`MAX_METADATA_BYTES`](crate::MAX_METADATA_BYTES).
    #[error("failed to read the metadata: {bytes} bytes, where at most {allowed} are allowed")]
    TooLarge {
        /// How long the text is.
        bytes: usize,
        /// How long it may be.
        allowed: usize,
    },
    /// Options are nested deeper than the bound.
    #[error("failed to read option `{option}`: options nest deeper than {allowed} levels")]
    TooDeep {
        /// The option that is too deep.
        option: String,
        /// How deep options may nest.
        allowed: usize,
    },
    /// A key that has to be there is not.
    #[error("missing key `{key}` in {place}")]
    MissingKey {
        /// Where it is missing.
        place: String,
        /// The missing key.
        key: String,
    },
    /// A key that means nothing here.
    #[error("unknown key `{key}` in {place}")]
    UnknownKey {
        /// Where it is.
        place: String,
        /// The unknown key.
        key: String,
    },
    /// A value of the wrong type.
    #[error("`{key}` in {place} must be {expected}, not {found}")]
    WrongType {
        /// Where it is.
        place: String,
        /// The key of the value.
        key: String,
        /// What the value has to be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Two parts of a spec that cannot both be meant.
    #[error("contradiction in {place}: {reason}")]
    Contradiction {
        /// Where it is.
        place: String,
        /// Which parts contradict each other.
        reason: String,
    },
}
