//! The Python type of a value, and access to the items of containers.

use std::borrow::Cow;

use minijinja::Value;
use minijinja::value::ValueKind;
use modbox_python_json::Surrogates;

use super::dates::{Calendar, Clock, Duration, Moment};
use super::group::Group;
use super::opaque::{LongInteger, SurrogateText};
use super::walk::ValueError;

/// A value by its Python type. Containers are read with [`items`] and [`entries`].
#[derive(Debug)]
pub enum View<'a> {
    /// A name or key that does not exist.
    Undefined,
    /// `None`
    None,
    /// A `bool`.
    Bool(bool),
    /// An `int` of at most 128 bits.
    Int(i128),
    /// Any other `int`, as decimal text.
    Long(Cow<'a, str>),
    /// A `float`.
    Float(f64),
    /// A `str`.
    Str(&'a str),
    /// A `str` with a lone surrogate.
    Surrogates(&'a Surrogates),
    /// `bytes`
    Bytes(&'a [u8]),
    /// A `list`, or what the engine makes instead of one.
    List,
    /// A `tuple`.
    Tuple,
    /// A `dict`.
    Dict,
    /// A `datetime.date`.
    Date(&'a Calendar),
    /// A `datetime.datetime`.
    DateTime(&'a Moment),
    /// A `datetime.time`.
    Time(&'a Clock),
    /// A `datetime.timedelta`.
    TimeDelta(&'a Duration),
    /// Anything else: a function, a macro, an object of the caller.
    Other,
}

/// Returns the Python type of a value.
#[must_use]
pub fn view(value: &Value) -> View<'_> {
    match value.kind() {
        ValueKind::Undefined => View::Undefined,
        ValueKind::None => View::None,
        ValueKind::Bool => View::Bool(value.is_true()),
        ValueKind::Number if value.is_integer() => {
            i128::try_from(value.clone()).map_or_else(|_| View::Long(Cow::Owned(value.to_string())), View::Int)
        }
        ValueKind::Number => View::Float(f64::try_from(value.clone()).unwrap_or(f64::NAN)),
        ValueKind::String => View::Str(value.as_str().unwrap_or_default()),
        ValueKind::Bytes => View::Bytes(value.as_bytes().unwrap_or_default()),
        ValueKind::Seq | ValueKind::Iterable if value.is_tuple() || value.downcast_object_ref::<Group>().is_some() => {
            View::Tuple
        }
        ValueKind::Seq | ValueKind::Iterable => View::List,
        ValueKind::Map => View::Dict,
        _ => object(value),
    }
}

fn object(value: &Value) -> View<'_> {
    if let Some(number) = value.downcast_object_ref::<LongInteger>() {
        return View::Long(Cow::Borrowed(number.0.as_str()));
    }
    if let Some(text) = value.downcast_object_ref::<SurrogateText>() {
        return View::Surrogates(&text.0);
    }
    if let Some(moment) = value.downcast_object_ref::<Moment>() {
        return View::DateTime(moment);
    }
    if let Some(date) = value.downcast_object_ref::<Calendar>() {
        return View::Date(date);
    }
    if let Some(clock) = value.downcast_object_ref::<Clock>() {
        return View::Time(clock);
    }
    value.downcast_object_ref::<Duration>().map_or(View::Other, View::TimeDelta)
}

/// Returns Python's name of the type.
#[must_use]
pub fn type_name(value: &Value) -> &'static str {
    match view(value) {
        View::Undefined => "Undefined",
        View::None => "NoneType",
        View::Bool(_) => "bool",
        View::Int(_) | View::Long(_) => "int",
        View::Float(_) => "float",
        View::Str(_) | View::Surrogates(_) => "str",
        View::Bytes(_) => "bytes",
        View::List => "list",
        View::Tuple => "tuple",
        View::Dict => "dict",
        View::Date(_) => "date",
        View::DateTime(_) => "datetime",
        View::Time(_) => "time",
        View::TimeDelta(_) => "timedelta",
        View::Other => "object",
    }
}

/// Returns the result of Python's `bool()`.
#[must_use]
pub fn is_true(value: &Value) -> bool {
    match view(value) {
        View::TimeDelta(duration) => duration.micros() != 0,
        View::Other | View::Date(_) | View::DateTime(_) | View::Time(_) => true,
        View::Long(_) | View::Surrogates(_) => true,
        View::Float(number) => number != 0.0,
        _ => value.is_true(),
    }
}

/// Returns the items that Python's `iter()` gives: the items of a list, the keys of a dict, the characters of a text.
///
/// # Errors
///
/// Python cannot iterate the value.
pub fn items(value: &Value) -> Result<Vec<Value>, ValueError> {
    match view(value) {
        View::Str(text) => Ok(text.chars().map(character).collect()),
        View::List | View::Tuple | View::Dict => {
            let iterator = value.try_iter().map_err(|_| ValueError::NotIterable(type_name(value)))?;
            Ok(iterator.collect())
        }
        View::Bytes(bytes) => Ok(bytes.iter().map(|byte| Value::from(*byte)).collect()),
        View::Undefined => Err(ValueError::Undefined),
        _ => Err(ValueError::NotIterable(type_name(value))),
    }
}

fn character(c: char) -> Value {
    Value::from(&*c.encode_utf8(&mut [0; 4]))
}

/// Returns keys and values of a dict, and `None` for any other value.
#[must_use]
pub fn entries(value: &Value) -> Option<Vec<(Value, Value)>> {
    if !matches!(view(value), View::Dict) {
        return None;
    }
    value.as_object()?.try_iter_pairs().map(Iterator::collect)
}
