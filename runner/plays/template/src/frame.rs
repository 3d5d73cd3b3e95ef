//! The names that a part of a template sets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use minijinja::Value;

/// A scope of names, within others. A template has few names, so they are searched one by one.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    names: Mutex<Vec<(Arc<str>, Value)>>,
    outer: Option<Arc<Frame>>,
    /// Whether variables are hidden: in a template that is imported without context.
    is_isolated: bool,
}

impl Frame {
    /// Makes a scope within another.
    pub(crate) fn within(outer: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { outer: Some(outer.clone()), is_isolated: outer.is_isolated, ..Self::default() })
    }

    /// Makes a scope from which no variables are seen.
    pub(crate) fn isolated() -> Arc<Self> {
        Arc::new(Self { is_isolated: true, ..Self::default() })
    }

    pub(crate) fn is_isolated(&self) -> bool {
        self.is_isolated
    }

    /// Returns the value of a name, from here or from an outer scope.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let mut frame = self;
        loop {
            let found = frame.names().iter().find(|(known, _)| **known == *name).map(|(_, value)| value.clone());
            match (found, &frame.outer) {
                (None, Some(outer)) => frame = outer,
                (found, _) => return found,
            }
        }
    }

    pub(crate) fn set(&self, name: &Arc<str>, value: Value) {
        let mut names = self.names();
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => names.push((name.clone(), value)),
        }
    }

    pub(crate) fn all(&self) -> Vec<(Arc<str>, Value)> {
        self.names().clone()
    }

    /// Returns the outermost scope.
    pub(crate) fn root(self: &Arc<Self>) -> Arc<Self> {
        let mut frame = self;
        while let Some(outer) = &frame.outer {
            frame = outer;
        }
        frame.clone()
    }

    pub(crate) fn clear(&self) {
        // Values are dropped after the lock, since one of them may hold this scope.
        let names = std::mem::take(&mut *self.names());
        drop(names);
    }

    fn names(&self) -> MutexGuard<'_, Vec<(Arc<str>, Value)>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
