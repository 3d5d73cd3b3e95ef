//! The filters and tests that accept undefined values.

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State, Value};
use modbox_jinja::values::{is_true, repr};

use crate::marker::Marker;
use crate::types::type_name;

/// A filter or test of this file.
pub(crate) type Settle = fn(&[Value]) -> Result<Value, Error>;

/// Filters by their names.
pub(crate) const FILTERS: [(&str, Settle); 5] =
    [("d", default), ("default", default), ("mandatory", mandatory), ("ternary", ternary), ("type_debug", type_debug)];

/// Tests by their names.
pub(crate) const TESTS: [(&str, Settle); 2] = [("defined", defined), ("undefined", undefined)];

/// Returns a filter or test as minijinja calls it.
pub(crate) fn function(settle: Settle) -> Value {
    Value::from_function(move |_: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| settle(&arguments.into_values()))
}

/// Binds arguments to parameters. A parameter without an argument is `None`.
fn bind<const N: usize>(filter: &str, arguments: &[Value], parameters: [&str; N]) -> Result<[Option<Value>; N], Error> {
    let failure = |message: String| Error::new(ErrorKind::InvalidOperation, message);
    let (named, positional) = match arguments.split_last() {
        Some((last, rest)) if last.is_kwargs() => (Some(last), rest),
        _ => (None, arguments),
    };
    if positional.len() > N {
        let given = positional.len();
        return Err(failure(format!("{filter}() takes at most {N} arguments ({given} given)")));
    }
    let mut bound: [Option<Value>; N] = std::array::from_fn(|index| positional.get(index).cloned());
    for (name, value) in named.and_then(modbox_jinja::values::entries).unwrap_or_default() {
        let place = parameters.iter().position(|parameter| name.as_str() == Some(parameter));
        match place.map(|place| &mut bound[place]) {
            Some(slot @ None) => *slot = Some(value),
            Some(_) => return Err(failure(format!("{filter}() got multiple values for argument '{name}'"))),
            None => return Err(failure(format!("{filter}() got an unexpected keyword argument '{name}'"))),
        }
    }
    Ok(bound)
}

fn missing(filter: &str, parameter: &str) -> Error {
    let message = format!("{filter}() missing 1 required positional argument: '{parameter}'");
    Error::new(ErrorKind::MissingArgument, message)
}

fn default(arguments: &[Value]) -> Result<Value, Error> {
    let [value, default, boolean] = bind("default", arguments, ["value", "default_value", "boolean"])?;
    let value = value.ok_or_else(|| missing("default", "value"))?;
    let boolean = boolean.unwrap_or_else(|| Value::from(false));
    if boolean.kind() != minijinja::value::ValueKind::Bool {
        let found = type_name(&boolean);
        let message = format!("The 'boolean' argument must be of type 'bool', not '{found}'.");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let is_replaced = Marker::is_undefined(&value) || (boolean.is_true() && !is_true(&value) && !Marker::is(&value));
    if boolean.is_true() && Marker::is(&value) && !Marker::is_undefined(&value) {
        return Ok(value);
    }
    Ok(if is_replaced { default.unwrap_or_else(|| Value::from("")) } else { value })
}

fn mandatory(arguments: &[Value]) -> Result<Value, Error> {
    let [value, message] = bind("mandatory", arguments, ["a", "msg"])?;
    let value = value.ok_or_else(|| missing("mandatory", "a"))?;
    if !Marker::is_undefined(&value) {
        return Ok(value);
    }
    let message = match message.filter(|message| !message.is_none()) {
        Some(message) => message.to_string(),
        None => match Marker::of(&value).and_then(|marker| marker.name.clone()) {
            Some(name) => format!("Mandatory variable {} not defined.", repr(&Value::from(name))?),
            None => "Mandatory variable not defined.".to_owned(),
        },
    };
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

fn ternary(arguments: &[Value]) -> Result<Value, Error> {
    let [value, yes, no, none] = bind("ternary", arguments, ["value", "true_val", "false_val", "none_val"])?;
    let value = value.ok_or_else(|| missing("ternary", "value"))?;
    let yes = yes.ok_or_else(|| missing("ternary", "true_val"))?;
    let no = no.ok_or_else(|| missing("ternary", "false_val"))?;
    if Marker::is(&value) {
        return Ok(value);
    }
    Ok(match none.filter(|none| value.is_none() && !none.is_none()) {
        Some(none) => none,
        None if is_true(&value) => yes,
        None => no,
    })
}

fn type_debug(arguments: &[Value]) -> Result<Value, Error> {
    let [value] = bind("type_debug", arguments, ["obj"])?;
    value.map(|value| Value::from(type_name(&value))).ok_or_else(|| missing("type_debug", "obj"))
}

fn defined(arguments: &[Value]) -> Result<Value, Error> {
    let [value] = bind("defined", arguments, ["value"])?;
    let value = value.ok_or_else(|| missing("defined", "value"))?;
    // Only what is undefined can be tested; a failure stays one.
    if Marker::is(&value) && !Marker::is_undefined(&value) {
        return Ok(value);
    }
    Ok(Value::from(!Marker::is(&value) && !value.is_undefined()))
}

fn undefined(arguments: &[Value]) -> Result<Value, Error> {
    let found = defined(arguments)?;
    if Marker::is(&found) { Ok(found) } else { Ok(Value::from(!found.is_true())) }
}

#[cfg(test)]
mod tests {
    use modbox_jinja::values::repr;

    use super::*;

    #[test]
    fn keywords_bind() {
        let named: minijinja::value::Kwargs = [("boolean", Value::from(true))].into_iter().collect();
        let given = [Value::from(""), Value::from("x"), Value::from(named)];
        assert_eq!(repr(&default(&given).unwrap()).unwrap(), "'x'");
    }
}
