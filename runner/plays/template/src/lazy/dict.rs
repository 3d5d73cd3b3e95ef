//! Dicts.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use minijinja::value::{Enumerator, Object, Value};
use modbox_jinja::values::{Key, MutableDict, Table, ValueError, entries, items};
use modbox_yaml::Source;

use super::nodes;
use crate::evaluation::Evaluation;
use crate::scope::Scope;

/// A dict of a variable, of a result, or of a literal in a template; or variables by their names.
pub(crate) struct LazyDict {
    evaluation: Arc<Evaluation>,
    entries: Entries,
    /// Values that were read and are not data.
    read: Mutex<HashMap<Key, Value>>,
    /// Data by its keys, once a key that is not text was looked for.
    table: OnceLock<Table>,
    /// The dict with its changes, once there are some.
    changed: OnceLock<Value>,
}

/// Where the entries are.
#[derive(Debug)]
pub(crate) enum Entries {
    Source(Source),
    /// Data. It `is_plain` when no value needs to be finalized.
    Data {
        value: Value,
        is_plain: bool,
    },
    Made(Table),
    Scope(Scope),
    /// Variables of hosts. One that is missing is a marker, also for the method `get`.
    Hosts(Scope),
}

impl LazyDict {
    pub(crate) fn value(evaluation: &Arc<Evaluation>, entries: Entries) -> Value {
        let evaluation = evaluation.clone();
        Value::from_object(Self {
            evaluation,
            entries,
            read: Mutex::default(),
            table: OnceLock::new(),
            changed: OnceLock::new(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        if let Some(changed) = self.changed.get() {
            return changed.len().unwrap_or(0);
        }
        match &self.entries {
            Entries::Source(source) => source.as_map().map_or(0, modbox_yaml::Map::len),
            Entries::Data { value, .. } => value.len().unwrap_or(0),
            Entries::Made(table) => table.len(),
            Entries::Scope(scope) | Entries::Hosts(scope) => scope.names().len(),
        }
    }

    pub(crate) fn keys(&self) -> Vec<Value> {
        if let Some(changed) = self.changed.get() {
            return items(changed).unwrap_or_default();
        }
        match &self.entries {
            Entries::Source(source) => nodes::keys(source),
            Entries::Data { value, .. } => items(value).unwrap_or_default(),
            Entries::Made(table) => table.iter().map(|(key, _)| key.clone()).collect(),
            Entries::Scope(scope) | Entries::Hosts(scope) => {
                scope.names().iter().map(|name| Value::from(&**name)).collect()
            }
        }
    }

    /// Returns the value of a key, which may be a marker.
    ///
    /// # Errors
    ///
    /// The key has no hash.
    pub(crate) fn get(&self, key: &Value) -> Result<Option<Value>, ValueError> {
        if let Some(changed) = self.changed.get() {
            Key::new(key.clone())?;
            return Ok(changed.as_object().and_then(|object| object.get_value(key)));
        }
        if let Entries::Made(table) = &self.entries {
            return Ok(table.get(key)?.cloned());
        }
        let hashed = Key::new(key.clone())?;
        if let Some(known) = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(&hashed) {
            return Ok(Some(known.clone()));
        }
        let found = match &self.entries {
            Entries::Source(source) => nodes::get(source, key).map(|value| (self.evaluation.source_value(value), true)),
            Entries::Data { value, is_plain } => {
                self.find(value, key)?.map(|value| self.evaluation.wrap(value, *is_plain))
            }
            Entries::Scope(scope) | Entries::Hosts(scope) => {
                let slot = key.as_str().and_then(|name| scope.get(name));
                slot.map(|slot| (self.evaluation.slot_value(slot), true))
            }
            Entries::Made(_) => None,
        };
        let Some((value, is_kept)) = found else { return Ok(self.missing_host(key)) };
        if is_kept {
            self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(hashed, value.clone());
        }
        Ok(Some(value))
    }

    /// Returns the marker for a host that is missing, if these are hosts.
    fn missing_host(&self, name: &Value) -> Option<Value> {
        let Entries::Hosts(_) = self.entries else { return None };
        let shown = modbox_jinja::values::repr(name).ok()?;
        Some(self.evaluation.absent_item(name, format!("hostvars[{shown}]")).value())
    }

    /// Returns whether these are the variables of hosts.
    pub(crate) fn is_of_hosts(&self) -> bool {
        matches!(self.entries, Entries::Hosts(_))
    }

    /// Returns the value of a key of data. minijinja's dicts have other rules for equal keys than Python, except for text.
    fn find(&self, data: &Value, key: &Value) -> Result<Option<Value>, ValueError> {
        if key.as_str().is_some() {
            return Ok(data.as_object().and_then(|object| object.get_value(key)));
        }
        if self.table.get().is_none() {
            // Another thread cannot be ahead: an evaluation runs on one.
            let _ = self.table.set(first_of_each(data)?);
        }
        Ok(self.table.get().map(|table| table.get(key)).transpose()?.flatten().cloned())
    }

    /// Says whether there is a key, without reading its value.
    ///
    /// # Errors
    ///
    /// The key has no hash.
    pub(crate) fn has_key(&self, key: &Value) -> Result<bool, ValueError> {
        Key::new(key.clone())?;
        match (&self.entries, self.changed.get()) {
            (Entries::Source(source), None) => Ok(nodes::get(source, key).is_some()),
            (Entries::Scope(scope) | Entries::Hosts(scope), None) => {
                Ok(key.as_str().is_some_and(|name| scope.get(name).is_some()))
            }
            _ => self.get(key).map(|found| found.is_some()),
        }
    }

    /// Returns all entries; some values may be markers.
    pub(crate) fn all(&self) -> Vec<(Value, Value)> {
        let pair = |key: Value| self.get(&key).ok().flatten().map(|value| (key, value));
        self.keys().into_iter().filter_map(pair).collect()
    }

    /// Returns the data, if it is that, unread and unchanged.
    pub(crate) fn untouched(&self) -> Option<Value> {
        match &self.entries {
            Entries::Data { value, is_plain: true } if self.changed.get().is_none() => {
                let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
                read.is_empty().then(|| value.clone())
            }
            _ => None,
        }
    }

    /// Returns the dict that methods change.
    ///
    /// # Errors
    ///
    /// The dict is too deep or too large.
    pub(crate) fn changeable(&self) -> Result<Value, ValueError> {
        if self.changed.get().is_none() {
            let all = self.all();
            let dict = MutableDict::default();
            dict.change(|table| all.into_iter().try_for_each(|(key, value)| table.insert(key, value)))?;
            // Another thread cannot be ahead: an evaluation runs on one.
            let _ = self.changed.set(Value::from_object(dict));
        }
        Ok(self.changed.get().cloned().unwrap_or_default())
    }
}

/// Returns the entries of data, the first one of those whose keys are equal.
fn first_of_each(data: &Value) -> Result<Table, ValueError> {
    let mut table = Table::default();
    for (key, value) in entries(data).unwrap_or_default() {
        if table.get(&key)?.is_none() {
            table.insert(key, value)?;
        }
    }
    Ok(table)
}

impl fmt::Debug for LazyDict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyDict").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Object for LazyDict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let found = self.get(key).ok().flatten().map(|value| self.evaluation.hand_out(value));
        if found.is_none() {
            self.evaluation.miss(key);
        }
        found
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.keys())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = modbox_jinja::values::repr(&Value::from_dyn_object(self.clone()));
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}
