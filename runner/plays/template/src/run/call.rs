//! Calls: filters, tests, functions and methods.
//!
//! A failure within a call becomes its value, a marker. So does a marker as an argument, unless the callee accepts it.

use std::sync::Arc;

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};
use modbox_jinja::values::{self, Range, RangeItems, Table, entries};
use modbox_jinja::{Made, Unshown};

use super::interpreter::Interpreter;
use crate::call_errors::{WholeMessage, detail};
use crate::compile::{Arguments, Call, Expr};
use crate::lazy::{Entries, Items, LazyDict, LazyList};
use crate::machine::{MarkerItems, Plugin};
use crate::marker::{Cause, Marker, Run, Stop};
use crate::methods::changes;
use crate::objects::{Cycler, Function, Joiner, LoopContext, Macro, Method, SelfReference};
use crate::origin::Origin;
use crate::types::type_name;

/// Evaluated arguments.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(Arc<str>, Value)>,
}

impl Given {
    /// Returns the first argument that is a marker.
    pub(crate) fn marker(&self) -> Option<Value> {
        let named = self.named.iter().map(|(_, value)| value);
        self.positional.iter().chain(named).find(|value| Marker::is(value)).cloned()
    }

    /// Makes arguments by their places.
    pub(crate) fn of(positional: Vec<Value>) -> Self {
        Self { positional, named: Vec::new() }
    }

    /// Returns the argument of a parameter.
    pub(crate) fn parameter(&self, place: usize, name: &str) -> Option<Value> {
        let named = || self.named.iter().find(|(known, _)| **known == *name).map(|(_, value)| value);
        self.positional.get(place).or_else(named).cloned()
    }

    /// Returns the arguments as minijinja passes them.
    pub(crate) fn passed(self) -> Vec<Value> {
        let mut all = self.positional.into_iter().map(read_range).collect::<Vec<_>>();
        if !self.named.is_empty() {
            let named = self.named.iter().map(|(name, value)| (&**name, read_range(value.clone())));
            all.push(Value::from(named.collect::<Kwargs>()));
        }
        all
    }
}

impl Interpreter<'_> {
    pub(crate) fn given(&mut self, arguments: &Arguments, first: Option<Value>) -> Run<Given> {
        self.given_with(arguments, first, None)
    }

    /// Evaluates arguments. A call block passes its body as `caller`, after the names that are written.
    fn given_with(&mut self, arguments: &Arguments, first: Option<Value>, caller: Option<Value>) -> Run<Given> {
        let mut given = Given { positional: first.into_iter().collect(), named: Vec::new() };
        for argument in &arguments.positional {
            given.positional.push(self.expression(argument)?);
        }
        for (name, argument) in &arguments.named {
            given.named.push((name.clone(), self.expression(argument)?));
        }
        given.named.extend(caller.map(|caller| ("caller".into(), caller)));
        if let Some(more) = &arguments.more {
            let more = self.expression(more)?;
            given.positional.extend(self.iterate(&more)?);
        }
        if let Some(more) = &arguments.more_named {
            let more = self.expression(more)?;
            if let Some(marker) = Marker::of(&more) {
                return Err(Stop(marker));
            }
            // A value may be a marker, which is used only when it is an argument.
            let all = more.downcast_object_ref::<LazyDict>().map(LazyDict::all).or_else(|| entries(&more));
            let all = all.ok_or_else(|| self.raise("argument after ** must be a mapping"))?;
            given.named.extend(all.into_iter().filter_map(|(name, value)| Some((name.to_str()?, value))));
        }
        Ok(given)
    }

    pub(crate) fn filter(&mut self, name: &str, input: &Expr, arguments: &Arguments) -> Run<Value> {
        let input = self.expression(input)?;
        let was_undefined = input.is_undefined();
        let given = self.given(arguments, Some(input))?;
        let machine = Arc::clone(&self.evaluation.machine);
        let Some(plugin) = machine.filter(name) else {
            return Err(self.stop(Cause::Raised, machine.unknown_filter(name)));
        };
        let value = self.plugin(&plugin, "filter", given)?;
        // A marker that is asked for its length is used, which is a failure.
        let is_text = value.as_str().is_some();
        if !is_text
            && !Marker::is(&value)
            && let Some(items) = value.len()
        {
            self.produce_items(items)?;
        }
        if value.is_undefined() && !(was_undefined && plugin.accepts_markers) {
            return Ok(self.undefined(absent(name)));
        }
        if value.is_undefined() {
            return Ok(value);
        }
        Ok(self.evaluation.wrap(value, false).0)
    }

    pub(crate) fn test(&mut self, name: &str, input: &Expr, arguments: &Arguments) -> Run<Value> {
        let input = self.expression(input)?;
        let given = self.given(arguments, Some(input))?;
        let machine = Arc::clone(&self.evaluation.machine);
        let Some(plugin) = machine.test(name) else {
            return Err(self.stop(Cause::Raised, machine.unknown_test(name)));
        };
        let value = self.plugin(&plugin, "test", given)?;
        if Marker::is(&value) { Ok(value) } else { Ok(Value::from(values::is_true(&value))) }
    }

    /// Applies a filter to values, for lookups.
    pub(crate) fn apply_filter(&mut self, name: &str, arguments: &[Value]) -> Run<Value> {
        let given = Given::of(arguments.to_vec());
        match self.evaluation.machine.filters.get(name) {
            Some(plugin) => self.plugin(plugin, "filter", given).and_then(defined),
            None => Err(self.raise(self.evaluation.machine.unknown_filter(name))),
        }
    }

    fn plugin(&mut self, plugin: &Plugin, kind: &str, given: Given) -> Run<Value> {
        if let Some(marker) = given.marker().filter(|_| !plugin.accepts_markers) {
            return Ok(marker);
        }
        if let Some(marker) = used_marker(plugin.marker_items, &given) {
            return Ok(marker);
        }
        let mut arguments = given.passed();
        if !plugin.accepts_markers {
            // Jinja's own undefined value, of an `if` without `else`, is empty for filters.
            arguments.iter_mut().filter(|value| value.is_undefined()).for_each(|value| *value = Value::from(""));
        }
        if plugin.is_python {
            self.evaluation.read(&Origin::Plugin(plugin.name.as_ref().into()));
        }
        let outer = self.evaluation.accept_markers(plugin.marker_items == MarkerItems::Accepted);
        let result = plugin.function.call(self.state(), &arguments);
        self.evaluation.accept_markers(outer);
        self.count_made()?;
        if let Some(limit) = self.evaluation.exceeded() {
            return Err(limit);
        }
        self.settled(result, |interpreter, error| {
            if error.kind() == ErrorKind::UndefinedError {
                return interpreter.undefined(detail(&error));
            }
            if WholeMessage::is_source_of(&error) {
                return interpreter.stop(Cause::Failed, detail(&error)).value();
            }
            let message = format!("The {kind} plugin '{}' failed: {}", plugin.name, detail(&error));
            let cause = if Unshown::is_source_of(&error) { Cause::Unshown } else { Cause::Failed };
            interpreter.stop(cause, message).value()
        })
    }

    /// Returns the value of a call: a marker that it used, its result, or its failure as a marker.
    fn settled(&self, result: Result<Value, Error>, failed: impl FnOnce(&Self, Error) -> Value) -> Run<Value> {
        if let Some(marker) = self.evaluation.trip.take() {
            return Ok(marker.value());
        }
        Ok(match result {
            Ok(value) => value,
            Err(error) => match stop_of(&error) {
                Some(stop) => stop.value(),
                None => failed(self, error),
            },
        })
    }

    /// Calls what an expression names. A call block passes its body as `caller`.
    pub(crate) fn call_with(&mut self, call: &Call, caller: Option<Value>) -> Run<Value> {
        let callee = self.expression(&call.callee)?;
        let given = self.given_with(&call.arguments, None, caller)?;
        let called = self.call(&callee, given);
        if let Some(limit) = self.evaluation.exceeded() {
            return Err(limit);
        }
        let value = called.unwrap_or_else(|stop| stop.value());
        if Marker::is(&value) {
            return Ok(value);
        }
        Ok(self.evaluation.wrap(value, false).0)
    }

    fn call(&mut self, callee: &Value, given: Given) -> Run<Value> {
        if Marker::is(callee) {
            return Ok(callee.clone());
        }
        if let Some(definition) = callee.downcast_object::<Macro>() {
            return self.call_macro(&definition, given);
        }
        if let Some(function) = callee.downcast_object_ref::<Function>() {
            let value = self.function(function.0, given)?;
            self.make(Made::bytes(&value, &[]))?;
            return Ok(value);
        }
        if let Some(marker) = given.marker() {
            return Ok(marker);
        }
        if let Some(method) = callee.downcast_object_ref::<Method>() {
            return self.method(&method.receiver, &method.name, given);
        }
        if let Some(joiner) = callee.downcast_object_ref::<Joiner>() {
            return Ok(joiner.next());
        }
        if let Some(context) = callee.downcast_object_ref::<LoopContext>() {
            return match &given.positional[..] {
                [items] => self.recurse(context, items),
                _ => Err(self.raise("a loop takes one argument")),
            };
        }
        Err(self.raise(format!("'{}' object is not callable", type_name(callee))))
    }

    pub(crate) fn method(&mut self, receiver: &Value, name: &Arc<str>, given: Given) -> Run<Value> {
        if receiver.downcast_object_ref::<SelfReference>().is_some() {
            return self.block_value(name);
        }
        if let Some(context) = receiver.downcast_object_ref::<LoopContext>() {
            return self.loop_method(context, name, &given.positional);
        }
        if let Some(cycler) = receiver.downcast_object_ref::<Cycler>() {
            return cycler.call(name).ok_or_else(|| self.raise(format!("a cycler has no method `{name}`")));
        }
        let changed = if !changes(name) {
            None
        } else if let Some(list) = receiver.downcast_object_ref::<LazyList>() {
            Some(self.checked(list.changeable())?)
        } else if let Some(dict) = receiver.downcast_object_ref::<LazyDict>() {
            Some(self.checked(dict.changeable())?)
        } else {
            None
        };
        if let ("get", Some(dict), [key, ..]) =
            (&**name, receiver.downcast_object_ref::<LazyDict>(), &given.positional[..])
        {
            let found = self.checked(dict.get(key))?;
            let default = || given.positional.get(1).cloned().unwrap_or_else(|| Value::from(()));
            return Ok(found.unwrap_or_else(default));
        }
        if let ("keys", Some(dict), true) =
            (&**name, receiver.downcast_object_ref::<LazyDict>(), given.positional.is_empty())
        {
            // The values are not read.
            return Ok(Value::from(dict.keys()));
        }
        if let ("copy", true) = (&**name, given.positional.is_empty() && given.named.is_empty())
            && let Some(copied) = self.copied(receiver)?
        {
            return Ok(copied);
        }
        let receiver = changed.unwrap_or_else(|| receiver.clone());
        let arguments = given.passed();
        let host = self.evaluation.machine.host.clone();
        let result = crate::plugins::call_method(self.state(), &*host, &receiver, name, &arguments);
        self.count_made()?;
        self.settled(result, |interpreter, error| interpreter.raise(detail(&error)).value())
    }

    /// Returns a copy of a lazy container, in which markers may stay.
    fn copied(&self, receiver: &Value) -> Run<Option<Value>> {
        if let Some(list) = receiver.downcast_object_ref::<LazyList>() {
            self.make(list.len().saturating_mul(size_of::<Value>()))?;
            return Ok(Some(LazyList::value(self.evaluation, Items::Made(list.all()))));
        }
        let Some(dict) = receiver.downcast_object_ref::<LazyDict>() else { return Ok(None) };
        self.make(dict.len().saturating_mul(2 * size_of::<Value>()))?;
        let mut table = Table::default();
        for (key, value) in dict.all() {
            self.checked(table.insert(key, value))?;
        }
        Ok(Some(LazyDict::value(self.evaluation, Entries::Made(table))))
    }

    fn loop_method(&self, context: &LoopContext, name: &str, arguments: &[Value]) -> Run<Value> {
        match (name, arguments.len()) {
            ("cycle", 0) => Err(self.raise("no items for cycling given")),
            ("cycle", length) => Ok(arguments[context.at() % length].clone()),
            _ => {
                let last = context.exchange(arguments);
                let same = |last: &Vec<Value>| {
                    let pairs = last.iter().zip(arguments);
                    last.len() == arguments.len()
                        && pairs.clone().all(|(left, right)| values::equal(left, right).unwrap_or(false))
                };
                Ok(Value::from(!last.is_some_and(|last| same(&last))))
            }
        }
    }
}

/// Returns a marker among the items of arguments, if a plugin uses it before it looks at them.
fn used_marker(marker_items: MarkerItems, given: &Given) -> Option<Value> {
    let hashed = match marker_items {
        MarkerItems::Read | MarkerItems::Accepted => return None,
        MarkerItems::Compared => None,
        MarkerItems::Hashed => given.positional.first().and_then(Marker::within),
    };
    hashed.map(|marker| marker.value()).or_else(|| given.positional.iter().find_map(failing_item))
}

/// Returns the first item of a lazy container that is a marker.
fn failing_item(value: &Value) -> Option<Value> {
    let all = match value.downcast_object_ref::<LazyList>() {
        Some(list) => list.all(),
        None => value.downcast_object_ref::<LazyDict>()?.all().into_iter().map(|(_, value)| value).collect(),
    };
    all.into_iter().find(Marker::is)
}

/// Returns the items of a range, which filters take for a list.
fn read_range(value: Value) -> Value {
    value.downcast_object::<Range>().map_or(value, |range| Value::from_object(RangeItems(range)))
}

/// Returns a value that is not a marker.
fn defined(value: Value) -> Run<Value> {
    Marker::of(&value).map_or(Ok(value), |marker| Err(Stop(marker)))
}

/// Returns the failure that an error carries.
pub(crate) fn stop_of(error: &Error) -> Option<Stop> {
    let mut source = std::error::Error::source(error);
    while let Some(found) = source {
        if let Some(stop) = found.downcast_ref::<Stop>() {
            return Some(stop.clone());
        }
        source = found.source();
    }
    None
}

/// Returns why a filter gave an undefined value.
fn absent(filter: &str) -> String {
    match filter.rsplit('.').next().unwrap_or(filter) {
        "first" => "No first item, sequence was empty.".to_owned(),
        "last" => "No last item, sequence was empty.".to_owned(),
        "min" | "max" => "No aggregated item, sequence was empty.".to_owned(),
        "random" => "No random item, sequence was empty.".to_owned(),
        name => format!("the filter `{name}` gave an undefined value"),
    }
}
