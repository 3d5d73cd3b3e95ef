//! What a text is, and how it is read.

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxFailure {
    pub(crate) message: String,
    pub(crate) line: u32,
}

impl SyntaxFailure {
    pub(super) fn new(message: impl Into<String>, line: u32) -> Self {
        Self { message: message.into(), line }
    }
}

/// Checks that delimiters can be told from each other.
///
/// # Errors
///
/// One is empty, or two that begin something are the same.
pub(super) fn check_delimiters(options: &TemplateOptions) -> Result<(), SyntaxFailure> {
    let all = [
        ("block_start_string", Some(&options.block_start)),
        ("variable_start_string", Some(&options.variable_start)),
        ("comment_start_string", Some(&options.comment_start)),
        ("block_end_string", Some(&options.block_end)),
        ("variable_end_string", Some(&options.variable_end)),
        ("comment_end_string", Some(&options.comment_end)),
        ("line_statement_prefix", options.line_statement_prefix.as_ref()),
        ("line_comment_prefix", options.line_comment_prefix.as_ref()),
    ];
    if let Some((name, _)) = all.iter().find(|(_, text)| text.is_some_and(String::is_empty)) {
        return Err(SyntaxFailure::new(format!("`{name}` must not be empty"), 1));
    }
    let (block, variable, comment) = (&options.block_start, &options.variable_start, &options.comment_start);
    if block == variable || variable == comment || comment == block {
        return Err(SyntaxFailure::new("Block, variable and comment start strings must be different.", 1));
    }
    Ok(())
}
