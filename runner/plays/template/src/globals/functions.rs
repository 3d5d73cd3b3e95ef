//! What global functions do, but for lookups.

use std::sync::Arc;

use minijinja::Value;
use modbox_jinja::HostError;
use modbox_jinja::values::{Moment, Range, Table, View, entries, items, view};

use crate::frame::Frame;
use crate::lazy::{Entries, LazyDict};
use crate::marker::{Marker, Run};
use crate::objects::{Cycler, FunctionKind, Joiner, Namespace};
use crate::run::{Given, Interpreter};
use crate::types::type_name;

impl Interpreter<'_> {
    /// Calls a global function.
    pub(crate) fn function(&mut self, kind: FunctionKind, given: Given) -> Run<Value> {
        match kind {
            FunctionKind::Lookup => return self.lookup(given, false),
            FunctionKind::Query => return self.lookup(given, true),
            FunctionKind::Undef => return self.undef(&given),
            _ => {}
        }
        if let Some(marker) = given.marker() {
            return Ok(marker);
        }
        match kind {
            FunctionKind::Cycler => {
                let cycler = Cycler::new(given.positional).map(Value::from_object);
                cycler.ok_or_else(|| self.raise("at least one item has to be provided"))
            }
            FunctionKind::Joiner => {
                let separator = given.parameter(0, "sep").unwrap_or_else(|| Value::from(", "));
                Ok(Value::from_object(Joiner::new(separator)))
            }
            FunctionKind::Dict => self.dict_of(given),
            FunctionKind::Namespace => self.namespace(given),
            FunctionKind::Range => self.range(&given.positional),
            FunctionKind::Now => self.now(&given),
            _ => Err(self.raise("`lipsum` makes random text, which a play has no use for")),
        }
    }

    /// Makes an undefined value on purpose.
    fn undef(&self, given: &Given) -> Run<Value> {
        let hint = given.parameter(0, "hint");
        if let Some(hint) = hint.as_ref().filter(|hint| Marker::is(hint)) {
            return Ok(hint.clone());
        }
        match hint.as_ref().map(|hint| (hint.as_str(), hint.is_none())) {
            None | Some((Some(""), _) | (None, true)) => {
                Ok(self.undefined("Mandatory variable has not been overridden"))
            }
            Some((Some(hint), _)) => Ok(self.undefined(hint)),
            Some((None, false)) => {
                let found = hint.as_ref().map_or("object", type_name);
                Err(self.raise(format!("The 'hint' argument must be of type 'str' or 'NoneType', not '{found}'.")))
            }
        }
    }

    fn table_of(&self, given: Given) -> Run<Table> {
        let mut table = Table::default();
        if given.positional.len() > 1 {
            let count = given.positional.len();
            return Err(self.raise(format!("dict expected at most 1 argument, got {count}")));
        }
        if let Some(first) = given.positional.first() {
            let pairs = match entries(first) {
                Some(entries) => entries,
                None => self.pairs(first)?,
            };
            for (key, value) in pairs {
                self.checked(table.insert(key, value))?;
            }
        }
        for (name, value) in given.named {
            self.checked(table.insert(Value::from(name), value))?;
        }
        Ok(table)
    }

    fn pairs(&self, value: &Value) -> Run<Vec<(Value, Value)>> {
        let mut pairs = Vec::new();
        for (index, item) in self.iterate(value)?.iter().enumerate() {
            let parts = items(item).map_err(|_| {
                self.raise(format!("cannot convert dictionary update sequence element #{index} to a sequence"))
            })?;
            let [key, value] = &parts[..] else {
                let length = parts.len();
                return Err(self
                    .raise(format!("dictionary update sequence element #{index} has length {length}; 2 is required")));
            };
            pairs.push((key.clone(), value.clone()));
        }
        Ok(pairs)
    }

    fn dict_of(&self, given: Given) -> Run<Value> {
        let table = self.table_of(given)?;
        Ok(LazyDict::value(self.evaluation, Entries::Made(table)))
    }

    fn namespace(&self, given: Given) -> Run<Value> {
        let frame: Arc<Frame> = Arc::default();
        for (name, value) in self.table_of(given)?.iter() {
            if let Some(name) = name.to_str() {
                frame.set(&name, value.clone());
            }
        }
        self.evaluation.own(&frame);
        Ok(Value::from_object(Namespace(frame)))
    }

    fn range(&self, arguments: &[Value]) -> Run<Value> {
        let mut numbers = Vec::new();
        for argument in arguments {
            let number = match view(argument) {
                View::Int(number) => i64::try_from(number).map_err(|_| self.raise("the range is too large"))?,
                View::Bool(truth) => i64::from(truth),
                _ => {
                    let name = type_name(argument);
                    return Err(self.raise(format!("'{name}' object cannot be interpreted as an integer")));
                }
            };
            numbers.push(number);
        }
        let (start, stop, step) = match numbers[..] {
            [stop] => (0, stop, 1),
            [start, stop] => (start, stop, 1),
            [_, _, 0] => return Err(self.raise("range() arg 3 must not be zero")),
            [start, stop, step] => (start, stop, step),
            [] => return Err(self.raise("range expected at least 1 argument, got 0")),
            _ => return Err(self.raise(format!("range expected at most 3 arguments, got {}", numbers.len()))),
        };
        Ok(Value::from_object(Range { start, stop, step }))
    }

    fn now(&mut self, given: &Given) -> Run<Value> {
        let is_utc = given.parameter(0, "utc").is_some_and(|utc| modbox_jinja::values::is_true(&utc));
        let now = self.time(is_utc).map_err(|error| self.raise(error.to_string()))?;
        let now = now.map(Value::from_object).ok_or_else(|| self.raise("the time is out of range"))?;
        match given.parameter(1, "fmt").filter(modbox_jinja::values::is_true) {
            Some(format) => self.method(&now, &"strftime".into(), Given::of(vec![format])),
            None => Ok(now),
        }
    }

    /// Returns the time in UTC, or in the zone of the host.
    fn time(&self, is_utc: bool) -> Result<Option<Moment>, HostError> {
        let host = &self.evaluation.machine.host;
        let now = host.now()?;
        let seconds = i64::try_from(now.div_euclid(1_000_000)).unwrap_or(i64::MAX);
        let offset = if is_utc { 0 } else { host.offset(seconds)?.seconds };
        Ok(Moment::from_micros(now + i128::from(offset) * 1_000_000, None))
    }
}
