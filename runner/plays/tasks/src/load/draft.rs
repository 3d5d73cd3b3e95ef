//! Lists of tasks as they are written, with imports that are not yet replaced.

use std::sync::Arc;

use crate::model::frame::Frame;
use crate::model::task::Task;

/// An entry of a list of tasks.
#[derive(Debug)]
pub enum Draft {
    /// A task.
    Task(Task),
    /// A block.
    Block(DraftBlock),
    /// `import_tasks`, to be replaced by the tasks of a file.
    ImportTasks(Task),
    /// `import_role`, to be replaced by the tasks of a role.
    ImportRole(Task),
}

/// A block.
#[derive(Debug)]
pub struct DraftBlock {
    /// The frame of its own keywords.
    pub frame: Arc<Frame>,
    /// `block`.
    pub tasks: Vec<Draft>,
    /// `rescue`.
    pub rescue: Vec<Draft>,
    /// `always`.
    pub always: Vec<Draft>,
}
