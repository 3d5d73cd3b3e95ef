//! What checks of templates found while plays are read, and what decides whether a run certainly reaches it.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use crate::error::LoadError;

/// A text that fails when it is evaluated.
#[derive(Debug)]
pub struct BadTemplate {
    /// What is wrong with it, and where.
    pub error: LoadError,
    /// Whether a run that selects all tasks certainly reaches it.
    pub is_certain: bool,
}

/// The texts that fail, and the state of reading that decides whether they are reached.
#[derive(Debug, Default)]
pub struct TemplateFindings {
    bad: RefCell<Vec<BadTemplate>>,
    /// Blocks with `rescue` around what is being read.
    rescues: Cell<usize>,
    /// Whether a task of the play can end it, or the play is not for this host.
    may_end: Cell<bool>,
}

impl TemplateFindings {
    /// Records a text that fails.
    pub fn add(&self, bad: BadTemplate) {
        self.bad.borrow_mut().push(bad);
    }

    /// Takes what was found, in the order of reading. A file that is imported twice counts once.
    #[must_use]
    pub fn take(&self) -> Vec<BadTemplate> {
        let mut seen = HashSet::new();
        let found = std::mem::take(&mut *self.bad.borrow_mut());
        found.into_iter().filter(|bad| seen.insert(bad.error.to_string())).collect()
    }

    /// Reads the tasks of a block with `rescue`, which takes their errors.
    pub fn within_rescue<T>(&self, read: impl FnOnce() -> T) -> T {
        self.rescues.set(self.rescues.get() + 1);
        let made = read();
        self.rescues.set(self.rescues.get() - 1);
        made
    }

    /// Says whether a block around what is being read takes errors.
    pub fn is_rescued(&self) -> bool {
        self.rescues.get() > 0
    }

    /// Records that the play may end before its last task.
    pub fn play_may_end(&self) {
        self.may_end.set(true);
    }

    /// Reads a play. If it may end early, no text of it is certainly reached.
    pub fn within_play<T>(&self, read: impl FnOnce() -> T) -> T {
        self.may_end.set(false);
        let before = self.bad.borrow().len();
        let made = read();
        if self.may_end.get() {
            self.bad.borrow_mut().iter_mut().skip(before).for_each(|bad| bad.is_certain = false);
        }
        made
    }
}
