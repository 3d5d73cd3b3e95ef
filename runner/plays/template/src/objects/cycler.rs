//! `cycler('a', 'b')`: items in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Object, ObjectRepr, Value};

/// Items that are given in turn.
#[derive(Debug)]
pub(crate) struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

impl Cycler {
    /// Makes a cycler; `None` without items.
    pub(crate) fn new(items: Vec<Value>) -> Option<Self> {
        (!items.is_empty()).then(|| Self { items, at: AtomicUsize::new(0) })
    }

    pub(crate) fn call(&self, method: &str) -> Option<Value> {
        match method {
            "next" => {
                let at = self.at.fetch_add(1, Ordering::Relaxed);
                self.items.get(at % self.items.len()).cloned()
            }
            "reset" => {
                self.at.store(0, Ordering::Relaxed);
                Some(Value::from(()))
            }
            _ => None,
        }
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "current" => self.items.get(self.at.load(Ordering::Relaxed) % self.items.len()).cloned(),
            "items" => Some(Value::from(self.items.clone())),
            _ => None,
        }
    }
}
