//! The failures of an action, and which one counts if there are several.
//!
//! The order is fixed: the program cannot start; a limit, a trap or a signal ended it; its output is not valid; it
//! reported an error; its exit status is not 0; it does not know the resource; it answered without having looked.

use std::fmt;

use thiserror::Error;

use crate::text::Text;

/// How the program of an action ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEnd {
    /// It did not start, for this reason.
    NotStarted(String),
    /// A limit, a trap or a signal ended it. The text says which.
    Stopped(String),
    /// It exited with this status.
    Exited(i32),
}

/// What a provider printed for one action, and how it ended.
#[derive(Debug, Clone)]
pub struct ActionOutput<'a> {
    /// How the program ended.
    pub end: &'a ActionEnd,
    /// Its standard output.
    pub stdout: &'a [u8],
}

/// Failure of an action.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProviderFailure {
    /// The program did not start.
    #[error("failed to start the provider: {0}")]
    NotStarted(String),
    /// A limit, a trap or a signal ended the program.
    #[error("failed to finish the action: {0}")]
    Stopped(String),
    /// The output does not follow the calling convention.
    #[error("failed to read the provider's output: {problem}{}", suffix(*status))]
    Output {
        /// What is wrong.
        problem: OutputError,
        /// Exit status of the program.
        status: i32,
    },
    /// The provider reported an error.
    #[error("{}", reported(message))]
    Reported {
        /// The provider's text.
        message: Text,
    },
    /// The program ended with an exit status other than 0.
    #[error("failed to finish the action: the provider exited with status {0} and reported no error")]
    Status(i32),
    /// The provider answered without having looked. The text says what kept it from that.
    #[error("the provider could not look, so its answer says nothing: {0}")]
    Blind(String),
    /// The resource does not exist.
    #[error("failed to update `{0}`: it does not exist, and the provider cannot create it")]
    Unknown(Text),
}

/// Output that does not follow the calling convention.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OutputError {
    /// There is no output.
    #[error("there is none; expected `# simple`, then lines of `key: value`")]
    Nothing,
    /// The first line is another one.
    #[error("the first line is `{0}`; expected `# simple`")]
    Header(Text),
    /// A line has no colon.
    #[error("the line `{0}` has no `:`; expected `key: value`")]
    NoColon(Text),
    /// A line has no key, or one that is not UTF-8.
    #[error("the line `{0}` has an invalid key before the `:`")]
    BadKey(Text),
    /// There are more lines than any provider prints.
    #[error("there are more than {0} lines")]
    TooManyLines(usize),
    /// A value comes before the first name.
    #[error("`{0}` comes before the first `name`")]
    BeforeName(String),
    /// `ral_was` comes before the first change.
    #[error("`ral_was` comes before the first change")]
    WasBeforeChange,
    /// The provider changed another resource.
    #[error("the update changed `{changed}` instead of `{name}`")]
    WrongName {
        /// The changed resource.
        changed: Text,
        /// The requested one.
        name: Text,
    },
    /// Two resources have the requested name.
    #[error("there is more than one resource with the name `{0}`")]
    Twice(Text),
    /// The output is not one JSON value.
    #[error("it is not one JSON value: {0}")]
    NotJson(String),
    /// The JSON has another form.
    #[error("{0}")]
    Form(String),
}

impl ActionOutput<'_> {
    /// Returns the exit status, or the failure of a program that did not exit by itself.
    pub(crate) fn status(&self) -> Result<i32, ProviderFailure> {
        match self.end {
            ActionEnd::NotStarted(reason) => Err(ProviderFailure::NotStarted(reason.clone())),
            ActionEnd::Stopped(reason) => Err(ProviderFailure::Stopped(reason.clone())),
            ActionEnd::Exited(status) => Ok(*status),
        }
    }
}

impl ProviderFailure {
    /// Returns the failure for output that is not valid.
    pub(crate) fn of_output(status: i32) -> impl Fn(OutputError) -> Self {
        move |problem| match problem {
            // The status says more than missing output does.
            OutputError::Nothing if status != 0 => Self::Status(status),
            problem => Self::Output { problem, status },
        }
    }

    /// Returns the failure for an exit status other than 0.
    pub(crate) fn check_status(status: i32) -> Result<(), Self> {
        if status == 0 { Ok(()) } else { Err(Self::Status(status)) }
    }
}

fn suffix(status: i32) -> String {
    if status == 0 { String::new() } else { format!(" (the provider exited with status {status})") }
}

fn reported(message: &Text) -> impl fmt::Display {
    match message.is_empty() {
        true => "the provider reported an error without a message".to_owned(),
        false => format!("the provider reported: {message}"),
    }
}
