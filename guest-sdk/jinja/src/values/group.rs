//! The groups that `groupby` returns.

use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr};

/// A group of `groupby`: a tuple of two items that also have the names `grouper` and `list`.
#[derive(Debug, Clone)]
pub struct Group {
    /// The value that all items share.
    pub grouper: Value,
    /// The items.
    pub list: Vec<Value>,
}

impl Group {
    /// Returns an item by its name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Value> {
        match name {
            "grouper" => Some(self.grouper.clone()),
            "list" => Some(Value::from(self.list.clone())),
            _ => None,
        }
    }
}

impl Object for Group {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        if let Some(name) = key.as_str() {
            return self.field(name);
        }
        match key.as_usize()? {
            0 => Some(self.grouper.clone()),
            1 => Some(Value::from(self.list.clone())),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(2)
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "({:?}, {:?})", self.grouper, self.list)
    }
}
