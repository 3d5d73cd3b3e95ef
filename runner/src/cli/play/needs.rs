//! Grants that lookups and files of a play lacked, collected while it runs or is explained.
//!
//! A module's denials are in its report. Lookups and the reading of the play's files belong to no run, so they are noted
//! here.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of needs that are kept; a person reads no more.
const MAX_NEEDS: usize = 1000;

/// What could not be done by a task with `no_log`.
const HIDDEN: &str = "do what a task with `no_log` does";

/// A grant that was lacking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// What could not be done, such as: read the variable `X`.
    pub(crate) action: String,
    /// The switch that allows it.
    pub(crate) switch: String,
}

/// Collector of needs.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    list: Mutex<Vec<Need>>,
}

impl Needs {
    /// Adds a need, once.
    pub(crate) fn add(&self, action: &str, switch: &str) {
        let mut list = self.list();
        if list.len() < MAX_NEEDS && list.iter().all(|need| need.switch != switch) {
            list.push(Need { action: action.to_owned(), switch: switch.to_owned() });
        }
    }

    /// Returns the number of needs.
    pub(crate) fn count(&self) -> usize {
        self.list().len()
    }

    /// Hides what could not be done, of all needs after the first ones.
    pub(crate) fn hide_after(&self, first: usize) {
        self.list().iter_mut().skip(first).for_each(|need| HIDDEN.clone_into(&mut need.action));
    }

    /// Takes what was collected.
    pub(crate) fn take(&self) -> Vec<Need> {
        std::mem::take(&mut *self.list())
    }

    fn list(&self) -> MutexGuard<'_, Vec<Need>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_is_kept_once() {
        let needs = Needs::default();
        needs.add("read the variable `A`", "--allow-env A");
        needs.add("read the variable `A` again", "--allow-env A");
        needs.add("read the variable `B`", "--allow-env B");
        assert_eq!(needs.count(), 2);
        needs.add("run `curl hush`", "--allow-run curl");
        needs.hide_after(2);
        assert_eq!(needs.list().pop().unwrap().action, HIDDEN);
        let switches: Vec<String> = needs.take().into_iter().map(|need| need.switch).collect();
        assert_eq!(switches, ["--allow-env A", "--allow-env B"]);
        assert!(needs.take().is_empty());
    }
}
