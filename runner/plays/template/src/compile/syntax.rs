//! What a text is, and how it is read.

use minijinja::Error;

use crate::options::TemplateOptions;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// Text with delimiters.
    Template,
    /// An expression without delimiters.
    Expression,
    /// An expression whose literals are rendered when they have templates in them.
    Condition,
}

/// How a text is read.
#[derive(Debug)]
pub(crate) struct Syntax {
    pub(crate) form: Form,
    pub(crate) options: TemplateOptions,
}

/// A text that is not a template.
#[derive(Debug, Clone)]
pub(crate) struct SyntaxFailure {
    pub(crate) message: String,
    pub(crate) line: u32,
}

impl SyntaxFailure {
    pub(super) fn of(error: &Error) -> Self {
        let message = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        Self { message, line: error.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(1) }
    }
}
