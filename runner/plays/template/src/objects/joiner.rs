//! `joiner(', ')`: nothing at the first call, and then the separator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use minijinja::value::{Object, ObjectRepr, Value};

/// A separator that is left out once.
#[derive(Debug)]
pub(crate) struct Joiner {
    separator: Value,
    was_used: AtomicBool,
}

impl Joiner {
    pub(crate) fn new(separator: Value) -> Self {
        Self { separator, was_used: AtomicBool::new(false) }
    }

    pub(crate) fn next(&self) -> Value {
        if self.was_used.swap(true, Ordering::Relaxed) { self.separator.clone() } else { Value::from("") }
    }
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}
