//! Blocks: tasks that belong together, those that rescue them, and those that always run.

use std::sync::Arc;

use crate::model::frame::Frame;
use crate::model::task::Task;

/// A block. A task outside of blocks is in a block of its own.
#[derive(Debug, Clone)]
pub struct Block {
    /// What the block inherits from; its own keywords are the first frame.
    pub frame: Arc<Frame>,
    /// The tasks.
    pub tasks: Vec<Item>,
    /// What runs when one of the tasks fails.
    pub rescue: Vec<Item>,
    /// What runs at the end in any case.
    pub always: Vec<Item>,
}

/// An entry of a list of tasks.
#[derive(Debug, Clone)]
pub enum Item {
    /// A task.
    Task(Arc<Task>),
    /// A block.
    Block(Arc<Block>),
}

impl Block {
    /// Says whether the block has no tasks at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.rescue.is_empty() && self.always.is_empty()
    }

    /// Returns the block with those tasks only that a condition holds for. Blocks that become empty are left out.
    ///
    /// # Errors
    ///
    /// The first error of the condition.
    pub fn filtered<E>(&self, keep: &mut dyn FnMut(&Task) -> Result<bool, E>) -> Result<Self, E> {
        Ok(Self {
            frame: Arc::clone(&self.frame),
            tasks: filtered(&self.tasks, keep)?,
            rescue: filtered(&self.rescue, keep)?,
            always: filtered(&self.always, keep)?,
        })
    }
}

/// Returns the items whose tasks a condition holds for.
///
/// # Errors
///
/// The first error of the condition.
pub fn filtered<E>(items: &[Item], keep: &mut dyn FnMut(&Task) -> Result<bool, E>) -> Result<Vec<Item>, E> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Item::Task(task) => {
                if keep(task)? {
                    kept.push(item.clone());
                }
            }
            Item::Block(block) => {
                let block = block.filtered(keep)?;
                if !block.is_empty() {
                    kept.push(Item::Block(Arc::new(block)));
                }
            }
        }
    }
    Ok(kept)
}
