//! Why an action could not do its work.

use modbox_template::TemplateError;

use crate::action_host::HostError;
use crate::files::FileError;
use crate::report::message::Message;

/// A failure of an action. A module that ran and failed is a result instead.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The arguments are wrong, or the action cannot be done.
    #[error("{0}")]
    Failed(String),
    /// The action says itself that it failed, as Ansible's own actions do: the text is the result's message.
    #[error("{0}")]
    Result(String),
    /// The arguments are wrong, in words that Ansible shows with no word of the action.
    #[error("{0}")]
    Wrong(String),
    /// The arguments are wrong; the message says where they are written.
    #[error("{}", .0.brief())]
    Explained(Box<Message>),
    /// The action does not run now.
    #[error("{0}")]
    Skipped(String),
    /// A template or condition of an argument fails.
    #[error("{}", .0.message())]
    Template(#[from] TemplateError),
    /// A file of the play's tree cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A module cannot be run.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl ActionError {
    /// Returns a failure whose text is the message of the result.
    pub fn result(text: impl Into<String>) -> Self {
        Self::Result(text.into())
    }

    /// Turns a failure into one whose text, after a prefix, is the message of the result. Others stay as they are.
    #[must_use]
    pub fn into_result(self, prefix: &str) -> Self {
        match self {
            Self::Failed(text) => Self::Result(format!("{prefix}{text}")),
            other => other,
        }
    }

    /// Returns a failure with a text.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
}
