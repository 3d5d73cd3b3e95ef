//! `loop` in a `for` block.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Object, ObjectRepr, Value};

use crate::compile::For;
use crate::frame::Frame;

/// The state of a loop.
pub(crate) struct LoopContext {
    pub(crate) items: Vec<Value>,
    pub(crate) depth: usize,
    /// The block, and the scope around it, when the loop is recursive.
    pub(crate) recursion: Option<(Arc<For>, Arc<Frame>)>,
    at: AtomicUsize,
    last_changed: Mutex<Option<Vec<Value>>>,
}

impl LoopContext {
    pub(crate) fn new(items: Vec<Value>, depth: usize, recursion: Option<(Arc<For>, Arc<Frame>)>) -> Self {
        Self { items, depth, recursion, at: AtomicUsize::new(0), last_changed: Mutex::default() }
    }

    pub(crate) fn go_to(&self, index: usize) {
        self.at.store(index, Ordering::Relaxed);
    }

    pub(crate) fn at(&self) -> usize {
        self.at.load(Ordering::Relaxed)
    }

    /// Keeps values for the next call of `loop.changed`, and returns those of the last one.
    pub(crate) fn exchange(&self, values: &[Value]) -> Option<Vec<Value>> {
        self.last_changed.lock().unwrap_or_else(PoisonError::into_inner).replace(values.to_vec())
    }
}

impl fmt::Debug for LoopContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopContext").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Object for LoopContext {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let (at, length) = (self.at(), self.items.len());
        Some(match key.as_str()? {
            "index" => Value::from(at + 1),
            "index0" => Value::from(at),
            "revindex" => Value::from(length - at.min(length)),
            "revindex0" => Value::from((length - at.min(length)).saturating_sub(1)),
            "first" => Value::from(at == 0),
            "last" => Value::from(at + 1 == length),
            "length" => Value::from(length),
            "depth" => Value::from(self.depth + 1),
            "depth0" => Value::from(self.depth),
            "previtem" => self.items.get(at.checked_sub(1)?)?.clone(),
            "nextitem" => self.items.get(at + 1)?.clone(),
            _ => return None,
        })
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<LoopContext {}/{}>", self.at() + 1, self.items.len())
    }
}
