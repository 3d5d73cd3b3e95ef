//! From what a template made to plain data: lazy items are rendered, `omit` is dropped, markers stop.

use std::sync::Arc;

use minijinja::Value;
use modbox_jinja::values::{Table, View, entries, items, view};
use modbox_yaml::Position;

use crate::evaluation::Evaluation;
use crate::lazy::{LazyDict, LazyList};
use crate::marker::{Cause, Marker, Run, Stop};
use crate::omit::Omit;

/// What the value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The result of an evaluation. Only data is valid.
    Result,
    /// A part of a text. Objects print themselves.
    Text,
}

impl Evaluation {
    /// Returns the data of a value.
    pub(crate) fn finalize(self: &Arc<Self>, value: &Value, mode: Mode, at: &Position, line: u32) -> Run<Value> {
        if let Some(marker) = Marker::of(value) {
            return Err(Stop(marker));
        }
        self.step(at, line)?;
        match view(value) {
            View::Undefined | View::Other => self.object(value, mode, at, line),
            View::List | View::Tuple => {
                let list = value.downcast_object_ref::<LazyList>();
                if let Some(data) = list.and_then(LazyList::untouched) {
                    return Ok(data);
                }
                let all = match list {
                    Some(list) => list.all(),
                    None => items(value).unwrap_or_default(),
                };
                self.all(all, mode, at, line).map(Value::from)
            }
            View::Dict => {
                let dict = value.downcast_object_ref::<LazyDict>();
                if let Some(data) = dict.and_then(LazyDict::untouched) {
                    return Ok(data);
                }
                let all = match dict {
                    Some(dict) => dict.all(),
                    None => entries(value).unwrap_or_default(),
                };
                self.entries(all, mode, at, line)
            }
            _ => Ok(value.clone()),
        }
    }

    /// Returns the data of a value, in which what is undefined stays so. Every other failure stops.
    pub(crate) fn finalize_defined(self: &Arc<Self>, value: &Value, at: &Position, line: u32) -> Run<Value> {
        if let Some(marker) = Marker::of(value) {
            return if Marker::is_undefined(value) { Ok(Value::UNDEFINED) } else { Err(Stop(marker)) };
        }
        let list = value.downcast_object_ref::<LazyList>().map(LazyList::all);
        let dict = value.downcast_object_ref::<LazyDict>().map(LazyDict::all);
        self.enter(at, line)?;
        let made = match view(value) {
            View::List | View::Tuple => {
                let all = list.unwrap_or_else(|| items(value).unwrap_or_default());
                let all = all.iter().map(|item| self.finalize_defined(item, at, line));
                all.collect::<Run<Vec<_>>>().map(Value::from)
            }
            View::Dict => {
                let all = dict.unwrap_or_else(|| entries(value).unwrap_or_default());
                let all = all.into_iter().map(|(key, value)| Ok((key, self.finalize_defined(&value, at, line)?)));
                all.collect::<Run<Vec<_>>>().map(Value::from_pairs)
            }
            _ => self.finalize(value, Mode::Result, at, line),
        };
        self.leave();
        made
    }

    fn object(&self, value: &Value, mode: Mode, at: &Position, line: u32) -> Run<Value> {
        if mode == Mode::Text || Omit::is(value) {
            return Ok(value.clone());
        }
        let message = format!(
            "Error rendering template: Type '{}' is unsupported for variable storage.",
            crate::types::type_name(value)
        );
        Err(Stop(self.marker(Cause::Failed, message, at, line)))
    }

    fn all(self: &Arc<Self>, all: Vec<Value>, mode: Mode, at: &Position, line: u32) -> Run<Vec<Value>> {
        self.produce(all.len(), at, line)?;
        self.enter(at, line)?;
        let made = all.iter().filter(|item| !Omit::is(item)).map(|item| self.finalize(item, mode, at, line)).collect();
        self.leave();
        made
    }

    fn entries(self: &Arc<Self>, all: Vec<(Value, Value)>, mode: Mode, at: &Position, line: u32) -> Run<Value> {
        self.produce(all.len(), at, line)?;
        self.enter(at, line)?;
        let made = (|| {
            let mut table = Table::default();
            for (key, value) in all.iter().filter(|(_, value)| !Omit::is(value)) {
                let key = self.finalize(key, mode, at, line)?;
                let value = self.finalize(value, mode, at, line)?;
                let inserted = table.insert(key, value);
                inserted.map_err(|error| Stop(self.marker(Cause::Raised, error.to_string(), at, line)))?;
            }
            Ok(table.into_value())
        })();
        self.leave();
        made
    }
}
