//! Values that do not exist, and failures that wait.
//!
//! A missing name or key, a template within a variable that failed, and a failed filter are markers. A template may hand a
//! marker on, or settle one that is undefined with `default` or `defined`. Any other use stops the template.
//!
//! Filters and functions of other crates see a marker as an object. What they do to it is recorded in the evaluation's
//! [`Trip`], so that the engine can replace their result.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind, State};
use modbox_jinja::values::{View, items, view};
use modbox_yaml::Position;

/// Why a marker exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A name, attribute or item does not exist.
    Undefined,
    /// An operation failed; the message has no template named in front yet.
    Raised,
    /// A template or plugin failed; the message is complete.
    Failed,
    /// As [`Cause::Failed`], of a template whose text may have a secret.
    Unshown,
    /// The policy denied what a lookup wanted; the message has no lookup named in front yet.
    Denied,
    /// A template cannot be parsed.
    Syntax,
    /// Templates that render each other, or a limit that was reached.
    Limit,
}

/// A value that does not exist.
#[derive(Debug)]
pub(crate) struct Marker {
    pub(crate) cause: Cause,
    pub(crate) message: Arc<str>,
    /// The name, attribute or item that does not exist, if the template named one.
    pub(crate) name: Option<Arc<str>>,
    /// The template that was rendered.
    pub(crate) at: Position,
    /// The line within the template, from 1.
    pub(crate) line: u32,
    pub(crate) trip: Arc<Trip>,
}

/// The first marker that code outside of the engine used, since it was last asked for.
#[derive(Debug, Default)]
pub(crate) struct Trip {
    is_set: AtomicBool,
    marker: Mutex<Option<Arc<Marker>>>,
}

/// A failure that stops the template.
#[derive(Debug, Clone)]
pub(crate) struct Stop(pub(crate) Arc<Marker>);

/// A result of running a part of a template.
pub(crate) type Run<T> = Result<T, Stop>;

impl Trip {
    pub(crate) fn set(&self, marker: &Arc<Marker>) {
        let mut first = self.marker.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| marker.clone());
        self.is_set.store(true, Ordering::Release);
    }

    pub(crate) fn take(&self) -> Option<Arc<Marker>> {
        if !self.is_set.swap(false, Ordering::AcqRel) {
            return None;
        }
        self.marker.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Marker {
    /// Returns the marker that a value is.
    pub(crate) fn of(value: &Value) -> Option<Arc<Self>> {
        value.downcast_object::<Self>()
    }

    /// Returns the first marker that a value is, or that a tuple has in it.
    pub(crate) fn within(value: &Value) -> Option<Arc<Self>> {
        match view(value) {
            View::Tuple => items(value).ok()?.iter().find_map(Self::within),
            _ => Self::of(value),
        }
    }

    /// Says whether a value is a marker.
    pub(crate) fn is(value: &Value) -> bool {
        value.downcast_object_ref::<Self>().is_some()
    }

    /// Says whether `default` replaces a value.
    pub(crate) fn is_undefined(value: &Value) -> bool {
        value.downcast_object_ref::<Self>().is_some_and(|marker| marker.cause == Cause::Undefined)
    }

    pub(crate) fn value(self: &Arc<Self>) -> Value {
        Value::from_dyn_object(self.clone())
    }
}

impl Stop {
    pub(crate) fn value(&self) -> Value {
        self.0.value()
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Stop {}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        Self::new(ErrorKind::UndefinedError, stop.0.message.to_string()).with_source(stop)
    }
}

impl Object for Marker {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, _: &Value) -> Option<Value> {
        Some(self.value())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.trip.set(self);
        Enumerator::NonEnumerable
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.trip.set(self);
        false
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, _: &[Value]) -> Result<Value, Error> {
        Err(Stop(self.clone()).into())
    }

    fn call_method(self: &Arc<Self>, _: &mut State<'_, '_>, _: &str, _: &[Value]) -> Result<Value, Error> {
        Ok(self.value())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.trip.set(self);
        f.write_str(&self.message)
    }
}
