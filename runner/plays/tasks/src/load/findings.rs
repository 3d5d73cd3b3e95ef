//! What checks of templates found while plays are read, and what decides whether a run certainly reaches it.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use crate::error::{LoadError, Problem};
use crate::files::FileError;
use crate::model::makers::Makers;

/// A text that fails when it is evaluated.
#[derive(Debug)]
pub struct BadTemplate {
    /// What is wrong with it, and where.
    pub error: LoadError,
    /// Whether a run that selects all tasks certainly reaches it.
    pub is_certain: bool,
}

impl BadTemplate {
    /// Says whether only a grant is lacking.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self.error.problem, Problem::File(FileError::Denied { .. }))
    }
}

/// The texts that fail, and the state of reading that decides whether they are reached.
#[derive(Debug, Default)]
pub struct TemplateFindings {
    bad: RefCell<Vec<BadTemplate>>,
    /// Blocks with `rescue` around what is being read.
    rescues: Cell<usize>,
    /// Whether a task of the play can end it, or the play is not for this host.
    may_end: Cell<bool>,
    /// Files and roles that were followed.
    followed: RefCell<HashSet<String>>,
    /// What tasks may write.
    pub makers: Makers,
}

impl TemplateFindings {
    /// Records a text that fails.
    pub fn add(&self, bad: BadTemplate) {
        self.bad.borrow_mut().push(bad);
    }

    /// Takes what was found, in the order of reading. A file that is read twice counts once. What a task may bring before another
    /// one looks for it is not certain.
    #[must_use]
    pub fn take(&self) -> Vec<BadTemplate> {
        let found = std::mem::take(&mut *self.bad.borrow_mut());
        let mut merged: Vec<BadTemplate> = Vec::with_capacity(found.len());
        let mut places: HashMap<String, usize> = HashMap::new();
        for bad in found {
            match places.get(&bad.error.to_string()).and_then(|place| merged.get_mut(*place)) {
                Some(known) => known.is_certain |= bad.is_certain,
                None => {
                    places.insert(bad.error.to_string(), merged.len());
                    merged.push(bad);
                }
            }
        }
        for bad in &mut merged {
            bad.is_certain &= match &bad.error.problem {
                Problem::NotFound { searched, .. } => !self.makers.may_make(searched),
                Problem::UnknownAction { .. } => !self.makers.may_make_all(),
                _ => true,
            };
        }
        merged
    }

    /// Reads what an include names. If no run certainly comes to it, nothing of it is certain.
    pub fn within_include<T>(&self, is_certain: bool, read: impl FnOnce() -> T) -> T {
        let before = self.bad.borrow().len();
        let made = read();
        if !is_certain {
            self.bad.borrow_mut().iter_mut().skip(before).for_each(|bad| bad.is_certain = false);
        }
        made
    }

    /// Says whether something is followed for the first time.
    pub fn is_first(&self, followed: &str) -> bool {
        self.followed.borrow_mut().insert(followed.to_owned())
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
