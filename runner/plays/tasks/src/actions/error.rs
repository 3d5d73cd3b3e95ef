//! Why an action could not do its work.

use modbox_template::TemplateError;

use crate::action_host::HostError;
use crate::files::FileError;
use crate::report::message::{Excerpt, Message};

/// A failure of an action. A module that ran and failed is a result instead.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The action says itself that it failed: the message is that of the result. Keywords do not change what came of
    /// it (ansible-core 2.21, `AnsibleActionFail`).
    #[error("{}", .0.brief())]
    Failed(Box<Message>),
    /// The arguments are wrong, which is a failure of the task.
    #[error("{}", .0.brief())]
    Wrong(Box<Message>),
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
    /// Returns a failure with a text.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(Box::new(Message::new(text)))
    }

    /// Returns the failure of a task with wrong arguments.
    pub fn wrong(text: impl Into<String>) -> Self {
        Self::Wrong(Box::new(Message::new(text)))
    }

    /// Returns the error with the place of the argument that is wrong.
    #[must_use]
    pub fn at(self, excerpt: Option<Excerpt>) -> Self {
        match self {
            Self::Failed(message) => Self::Failed(Box::new(message.at(excerpt))),
            Self::Wrong(message) => Self::Wrong(Box::new(message.at(excerpt))),
            other => other,
        }
    }

    /// Changes the message of a failure. Others stay as they are.
    #[must_use]
    pub fn map_failed(self, change: impl FnOnce(Message) -> Self) -> Self {
        match self {
            Self::Failed(message) => change(*message),
            other => other,
        }
    }
}
