//! Errors of templates, expressions and conditions.

use std::sync::Arc;

use modbox_yaml::Position;

use crate::marker::{Cause, Marker};

/// What was evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// Text with templates in it.
    Template,
    /// An expression without delimiters.
    Expression,
    /// An expression that must be true or false.
    Condition,
}

/// A failed evaluation. Each variant has a message in Ansible's words: see [`TemplateError::message`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum TemplateError {
    /// A name, attribute or item does not exist.
    #[error("failed to evaluate the {kind} at {at}: {message}{}", elsewhere(.at, .cause, *.line))]
    Undefined {
        /// What was evaluated.
        kind: Kind,
        /// What was evaluated begins here.
        at: Position,
        /// The template that named the missing thing begins here.
        cause: Position,
        /// The line within that template.
        line: u32,
        /// What is undefined.
        message: Arc<str>,
        /// The name, attribute or item that does not exist, if the template named one.
        name: Option<Arc<str>>,
    },
    /// The text cannot be parsed.
    #[error("failed to parse the {kind} at {at}: {message}{}", elsewhere(.at, .cause, *.line))]
    Syntax {
        /// What was evaluated.
        kind: Kind,
        /// What was evaluated begins here.
        at: Position,
        /// The template that cannot be parsed begins here.
        cause: Position,
        /// The line within that template.
        line: u32,
        /// What was found.
        message: Arc<str>,
    },
    /// An operation, filter, test, lookup or function failed.
    #[error("failed to evaluate the {kind} at {at}: {message}{}", elsewhere(.at, .cause, *.line))]
    Failed {
        /// What was evaluated.
        kind: Kind,
        /// What was evaluated begins here.
        at: Position,
        /// The template that failed begins here.
        cause: Position,
        /// The line within that template.
        line: u32,
        /// What failed.
        message: Arc<str>,
        /// Whether the lines of the template may be shown.
        is_shown: bool,
    },
    /// The policy denied what a lookup wanted.
    #[error("failed to evaluate the {kind} at {at}: {message}{}", elsewhere(.at, .cause, *.line))]
    Denied {
        /// What was evaluated.
        kind: Kind,
        /// What was evaluated begins here.
        at: Position,
        /// The template with the lookup begins here.
        cause: Position,
        /// The line within that template.
        line: u32,
        /// What was denied, and what allows it.
        message: Arc<str>,
    },
    /// Templates render each other without end, or a limit was reached.
    #[error("failed to evaluate the {kind} at {at}: {message}{}", elsewhere(.at, .cause, *.line))]
    Limit {
        /// What was evaluated.
        kind: Kind,
        /// What was evaluated begins here.
        at: Position,
        /// The template that was running begins here.
        cause: Position,
        /// The line within that template.
        line: u32,
        /// The limit.
        message: Arc<str>,
    },
    /// The value is `omit`.
    #[error("failed to evaluate the {kind} at {at}: the value is `omit`, which has no meaning here")]
    Omitted {
        /// What was evaluated.
        kind: Kind,
        /// Where it begins.
        at: Position,
    },
    /// A condition is empty, or its value is not a boolean.
    #[error("failed to evaluate the condition at {at}: {message}")]
    NotBoolean {
        /// Where the condition begins.
        at: Position,
        /// The value that was found.
        message: Arc<str>,
    },
}

/// Returns a note on the template that failed, if it is not the one that was evaluated.
fn elsewhere(at: &Position, cause: &Position, line: u32) -> String {
    match (at == cause, line) {
        (true, 0 | 1) => String::new(),
        (true, _) => format!(" (in line {line} of the text)"),
        (false, 0 | 1) => format!(" (in the template at {cause})"),
        (false, _) => format!(" (in line {line} of the template at {cause})"),
    }
}

impl TemplateError {
    pub(crate) fn of_marker(marker: &Marker, kind: Kind, at: &Position) -> Self {
        let (at, cause, line, message) = (at.clone(), marker.at.clone(), marker.line, marker.message.clone());
        match marker.cause {
            Cause::Undefined => Self::Undefined { kind, at, cause, line, message, name: marker.name.clone() },
            Cause::Syntax => Self::Syntax { kind, at, cause, line, message },
            Cause::Limit => Self::Limit { kind, at, cause, line, message },
            Cause::Denied => Self::Denied { kind, at, cause, line, message },
            Cause::Raised | Cause::Failed => Self::Failed { kind, at, cause, line, message, is_shown: true },
            Cause::Unshown => Self::Failed { kind, at, cause, line, message, is_shown: false },
        }
    }

    /// Returns the cause in the words that Ansible's results and its users know, without positions.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Undefined { kind: Kind::Condition, message, .. } => {
                format!("Error while evaluating conditional: {message}")
            }
            Self::Undefined { message, .. }
            | Self::Syntax { message, .. }
            | Self::Failed { message, .. }
            | Self::Denied { message, .. }
            | Self::Limit { message, .. }
            | Self::NotBoolean { message, .. } => message.to_string(),
            Self::Omitted { .. } => "A template was resolved to an Omit scalar.".to_owned(),
        }
    }

    /// Returns where the evaluated text begins.
    #[must_use]
    pub fn position(&self) -> &Position {
        match self {
            Self::Undefined { at, .. }
            | Self::Syntax { at, .. }
            | Self::Failed { at, .. }
            | Self::Denied { at, .. }
            | Self::Limit { at, .. }
            | Self::Omitted { at, .. }
            | Self::NotBoolean { at, .. } => at,
        }
    }

    /// Returns where a person looks first: the line of a template file that failed, without a column, or else where the
    /// evaluated text begins.
    #[must_use]
    pub fn place(&self) -> Position {
        match self {
            Self::Undefined { cause, line, .. }
            | Self::Syntax { cause, line, .. }
            | Self::Failed { cause, line, .. }
            | Self::Denied { cause, line, .. }
            | Self::Limit { cause, line, .. }
                if *cause == Position::start_of(&cause.file) && cause.file.starts_with('/') =>
            {
                Position { line: *line, column: 0, ..cause.clone() }
            }
            _ => self.position().clone(),
        }
    }

    /// Says whether the lines of the template may be shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        !matches!(self, Self::Failed { is_shown: false, .. })
    }

    /// Says whether the policy denied something.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }

    /// Says whether something was undefined.
    #[must_use]
    pub fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined { .. })
    }

    /// Returns the name, attribute or item that does not exist, if that is what failed and the template named it.
    #[must_use]
    pub fn missing_name(&self) -> Option<&str> {
        match self {
            Self::Undefined { name, .. } => name.as_deref(),
            _ => None,
        }
    }
}
