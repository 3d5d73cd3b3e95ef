//! The errors of reading a spec or a module's metadata.

use modbox_python_json::DecodeError;

/// A mistake in an argument spec or in metadata.
///
/// Options are named by their dotted path (`users.name`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is not a JSON document.
    #[error("failed to read the metadata as JSON")]
    Json(#[source] DecodeError),
    /// The text is longer than [`MAX_METADATA_BYTES`](crate::MAX_METADATA_BYTES).
    #[error("failed to read the metadata: {bytes} bytes, where at most {allowed} are allowed")]
    TooLarge {
        /// The length of the text.
        bytes: usize,
        /// The longest length that is allowed.
        allowed: usize,
    },
    /// Options are nested deeper than the limit.
    #[error("failed to read option `{option}`: options nest deeper than {allowed} levels")]
    TooDeep {
        /// The option that is too deep.
        option: String,
        /// The allowed depth.
        allowed: usize,
    },
    /// A required key is missing.
    #[error("missing key `{key}` in {place}")]
    MissingKey {
        /// The part of the spec that lacks it.
        place: String,
        /// The missing key.
        key: String,
    },
    /// A key is unknown.
    #[error("unknown key `{key}` in {place}")]
    UnknownKey {
        /// The part of the spec that has it.
        place: String,
        /// The unknown key.
        key: String,
    },
    /// A value has the wrong type.
    #[error("`{key}` in {place} must be {expected}, not {found}")]
    WrongType {
        /// The part of the spec that has it.
        place: String,
        /// The key of the value.
        key: String,
        /// The type that is required.
        expected: &'static str,
        /// The type that was found.
        found: String,
    },
    /// Two parts of a spec contradict each other.
    #[error("contradiction in {place}: {reason}")]
    Contradiction {
        /// The part of the spec with the contradiction.
        place: String,
        /// The parts that contradict each other.
        reason: String,
    },
}
