//! A task that runs, or an item of its loop: the task, what events say about it, and its variables.

use std::sync::Arc;

use modbox_template::Scope;

use crate::fields::{FieldError, Fields};
use crate::model::task::Task;
use crate::report::events::TaskInfo;
use crate::report::message::Message;
use crate::run::ends::projections::LoopSoFar;
use crate::run::errors;
use crate::run::session::Session;

/// A task that runs, or an item of its loop.
#[derive(Debug)]
pub struct TaskRun<'a> {
    /// The task.
    pub task: &'a Task,
    /// What events say about it.
    pub info: &'a TaskInfo,
    /// The variables, with those of the loop.
    pub scope: Scope,
    /// The results of the items before, if the task repeats.
    pub earlier: Option<Arc<LoopSoFar>>,
}

impl TaskRun<'_> {
    /// Evaluates a keyword.
    ///
    /// # Errors
    ///
    /// It cannot be evaluated; the message names the keyword.
    pub fn field<T>(
        &self,
        session: &Session<'_>,
        evaluate: impl FnOnce(&Fields<'_>, &Task) -> Result<T, FieldError>,
    ) -> Result<T, Message> {
        let fields = Fields { engine: session.engine, scope: &self.scope };
        evaluate(&fields, self.task).map_err(|error| errors::of_field(session, &error))
    }
}
