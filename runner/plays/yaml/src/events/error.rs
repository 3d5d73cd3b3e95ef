//! Why a text is not YAML, in libyaml's words.

use super::mark::Mark;

/// A mistake in the syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// What was found.
    pub(crate) problem: &'static str,
    /// Where.
    pub(crate) place: Mark,
    /// What was being read, and where that began.
    pub(crate) context: Option<(&'static str, Mark)>,
}

/// The result of a step of the scanner or the parser.
pub(super) type Scanned<T> = Result<T, SyntaxError>;

impl SyntaxError {
    /// Makes the error of a step that has no context.
    pub(super) fn bare<T>(problem: &'static str, place: Mark) -> Scanned<T> {
        Err(Self { problem, place, context: None })
    }

    /// Makes the error of something that began at another place.
    pub(super) fn within<T>(doing: &'static str, began: Mark, problem: &'static str, place: Mark) -> Scanned<T> {
        Err(Self { problem, place, context: Some((doing, began)) })
    }
}
