//! Methods of Python's types: `split`, `items`, `append`.
//!
//! minijinja asks for a method only if the object has none of its own, so a dict's entry never hides a method.

mod arguments;
mod date;
mod dict;
mod list;
mod number;
mod text;

use minijinja::{Error, ErrorKind, State, Value};

use self::arguments::Arguments;
use crate::call::split_named;
use crate::failure::Outcome;
use crate::host::Host;
use crate::made::Made;
use crate::values::{ValueError, View, type_name, view};

/// Calls a method of a value, for [`minijinja::Environment::set_unknown_method_callback`].
///
/// # Errors
///
/// Python's type has no such method, the arguments do not fit, or the method fails.
pub fn call_method(state: &mut State<'_, '_>, host: &dyn Host, value: &Value, name: &str, args: &[Value]) -> Outcome {
    let (positional, named) = split_named(args)?;
    let arguments = Arguments { name, positional: &positional, named: &named };
    let found = match view(value) {
        View::Undefined => return Err(ValueError::Undefined.into()),
        View::Str(text) => text::call(text, &arguments)?,
        View::Bytes(bytes) => text::call_bytes(bytes, &arguments)?,
        View::List | View::Tuple => list::call(value, &arguments)?,
        View::Dict => dict::call(value, &arguments)?,
        View::Bool(_) | View::Int(_) | View::Long(_) | View::Float(_) => number::call(value, &arguments)?,
        View::Date(_) | View::DateTime(_) | View::Time(_) | View::TimeDelta(_) => date::call(value, host, &arguments)?,
        View::None | View::Surrogates(_) | View::Other => None,
    };
    let unknown = || format!("'{}' object has no attribute '{name}'", type_name(value));
    let result = found.ok_or_else(|| Error::new(ErrorKind::UnknownMethod, unknown()))?;
    let is_passed_on = Made::bytes(&result, std::slice::from_ref(value)) == 0;
    Made::add(state, if is_passed_on { 0 } else { Made::bytes(&result, args) })?;
    Ok(result)
}
