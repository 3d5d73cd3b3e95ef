//! Lists.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr, Value};
use modbox_jinja::values::{MutableList, ValueError};
use modbox_yaml::Source;

use crate::evaluation::Evaluation;

/// A list of a variable, of a result, or of a literal in a template.
pub(crate) struct LazyList {
    evaluation: Arc<Evaluation>,
    items: Items,
    /// Items that were read and are not data.
    read: Mutex<HashMap<usize, Value>>,
    /// The list with its changes, once there are some.
    changed: OnceLock<Value>,
}

/// Where the items are.
#[derive(Debug)]
pub(crate) enum Items {
    Source(Source),
    /// Data. It `is_plain` when no item needs to be finalized.
    Data {
        value: Value,
        is_plain: bool,
    },
    Made(Vec<Value>),
}

impl LazyList {
    pub(crate) fn value(evaluation: &Arc<Evaluation>, items: Items) -> Value {
        let evaluation = evaluation.clone();
        Value::from_object(Self { evaluation, items, read: Mutex::default(), changed: OnceLock::new() })
    }

    pub(crate) fn len(&self) -> usize {
        if let Some(changed) = self.changed.get() {
            return changed.len().unwrap_or(0);
        }
        match &self.items {
            Items::Source(source) => source.as_list().map_or(0, <[Source]>::len),
            Items::Data { value, .. } => value.len().unwrap_or(0),
            Items::Made(items) => items.len(),
        }
    }

    /// Returns an item, which may be a marker.
    pub(crate) fn get(&self, index: usize) -> Option<Value> {
        if let Some(changed) = self.changed.get() {
            return changed.get_item_by_index(index).ok().filter(|item| !item.is_undefined() || index < self.len());
        }
        if let Items::Made(items) = &self.items {
            return items.get(index).cloned();
        }
        if let Some(known) = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(&index) {
            return Some(known.clone());
        }
        let (item, is_kept) = match &self.items {
            Items::Source(source) => {
                let item = source.as_list()?.get(index)?;
                (self.evaluation.source_value(item), true)
            }
            Items::Data { value, is_plain } => {
                let item = value.as_object()?.get_value(&Value::from(index))?;
                self.evaluation.wrap(item, *is_plain)
            }
            Items::Made(_) => return None,
        };
        if is_kept {
            self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(index, item.clone());
        }
        Some(item)
    }

    /// Returns all items; some may be markers.
    pub(crate) fn all(&self) -> Vec<Value> {
        (0..self.len()).map_while(|index| self.get(index)).collect()
    }

    /// Returns the data, if it is that, unread and unchanged.
    pub(crate) fn untouched(&self) -> Option<Value> {
        match &self.items {
            Items::Data { value, is_plain: true } if self.changed.get().is_none() => {
                let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
                read.is_empty().then(|| value.clone())
            }
            _ => None,
        }
    }

    /// Returns the list that methods change.
    ///
    /// # Errors
    ///
    /// The list is too deep or too large.
    pub(crate) fn changeable(&self) -> Result<Value, ValueError> {
        if self.changed.get().is_none() {
            let items = self.all();
            let list = MutableList::default();
            list.change(|all| {
                *all = items;
                Ok::<_, ValueError>(())
            })?;
            // Another thread cannot be ahead: an evaluation runs on one.
            let _ = self.changed.set(Value::from_object(list));
        }
        Ok(self.changed.get().cloned().unwrap_or_default())
    }
}

impl fmt::Debug for LazyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyList").field("items", &self.items).finish_non_exhaustive()
    }
}

impl Object for LazyList {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get(key.as_usize()?).map(|item| self.evaluation.hand_out(item))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.len())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = modbox_jinja::values::repr(&Value::from_dyn_object(self.clone()));
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}
