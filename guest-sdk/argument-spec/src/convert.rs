//! One value to one option type, with Ansible's reasons when it does not go.

use modbox_python_json::{Value, encode, repr, str};

use crate::dict_text::dict_from_text;
use crate::environment::{Environment, expand_path};
use crate::number::{python_strip, to_float, to_int};
use crate::size::{Unit, to_size};
use crate::spec::OptionType;

const TRUE_WORDS: [&str; 6] = ["y", "yes", "on", "1", "true", "t"];
const FALSE_WORDS: [&str; 6] = ["n", "no", "off", "0", "false", "f"];

/// Converts a value.
///
/// # Errors
///
/// The reason, without the option's name.
pub(crate) fn convert(value: &Value, to: OptionType, environment: &dyn Environment) -> Result<Value, String> {
    match to {
        OptionType::Str => Ok(to_text(value)),
        OptionType::Path => Ok(to_path(value, environment)),
        OptionType::Raw => Ok(value.clone()),
        OptionType::Bool => to_bool(value),
        OptionType::Int => to_int(value).ok_or_else(|| format!("\"{}\" cannot be converted to an int", repr(value))),
        OptionType::Float => to_float(value).map(Value::Float).ok_or_else(|| no_way(value, "a float")),
        OptionType::List => to_list(value),
        OptionType::Dict => match value {
            Value::Dict(_) => Ok(value.clone()),
            Value::Str(_) | Value::Surrogates(_) => dict_from_text(&str(value)).map_err(ToOwned::to_owned),
            _ => Err(no_way(value, "a dict")),
        },
        OptionType::Json | OptionType::JsonArg => match value {
            Value::Str(text) => Ok(python_strip(text).into()),
            Value::Surrogates(_) => Ok(value.clone()),
            Value::List(_) | Value::Dict(_) => Ok(encode(value).into()),
            _ => Err(no_way(value, "a json string")),
        },
        OptionType::Bytes => to_size(value, Unit::Bytes).ok_or_else(|| no_way(value, "a Byte value")),
        OptionType::Bits => to_size(value, Unit::Bits).ok_or_else(|| no_way(value, "a Bit value")),
    }
}

/// Converts to a bool, as Ansible also does for its own internal arguments.
///
/// # Errors
///
/// The reason, without the option's name.
pub(crate) fn to_bool(value: &Value) -> Result<Value, String> {
    let text = match value {
        Value::Bool(_) => return Ok(value.clone()),
        Value::Int(1) => return Ok(true.into()),
        Value::Int(0) => return Ok(false.into()),
        Value::Float(number) if *number == 1.0 => return Ok(true.into()),
        Value::Float(number) if *number == 0.0 => return Ok(false.into()),
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Surrogates(_) => str(value),
        Value::Str(text) => text.clone(),
        Value::Null | Value::List(_) | Value::Dict(_) => return Err(no_way(value, "a bool")),
    };
    let word = python_strip(&text).to_lowercase();
    if TRUE_WORDS.contains(&word.as_str()) {
        return Ok(true.into());
    }
    if FALSE_WORDS.contains(&word.as_str()) {
        return Ok(false.into());
    }
    let words: Vec<String> = TRUE_WORDS.iter().chain(&FALSE_WORDS).map(|word| format!("'{word}'")).collect();
    Err(format!("The value '{text}' is not a valid boolean. Valid booleans include: {}, 0, 1", words.join(", ")))
}

fn to_text(value: &Value) -> Value {
    match value {
        Value::Null => "".into(),
        Value::Str(_) | Value::Surrogates(_) => value.clone(),
        _ => str(value).into(),
    }
}

fn to_path(value: &Value, environment: &dyn Environment) -> Value {
    match to_text(value) {
        Value::Str(path) => expand_path(&path, environment).into(),
        other => other,
    }
}

fn to_list(value: &Value) -> Result<Value, String> {
    match value {
        Value::List(_) => Ok(value.clone()),
        Value::Str(text) => Ok(text.split(',').collect::<Vec<_>>().into()),
        Value::Surrogates(_) => Ok(Value::List(vec![value.clone()])),
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Bool(_) => Ok(vec![str(value)].into()),
        Value::Null | Value::Dict(_) => Err(no_way(value, "a list")),
    }
}

fn no_way(value: &Value, what: &str) -> String {
    format!("<class '{}'> cannot be converted to {what}", value.type_name())
}

/// Returns a choice that a bool was meant to be: YAML readers turn `yes` into true, a `str` option turns
/// that into `True`, and exactly one choice means true.
pub(crate) fn choice_meant_by_bool<'a>(text: &str, choices: &'a [Value]) -> Option<&'a Value> {
    let (words, number) = match text {
        "True" => (TRUE_WORDS, 1.0),
        "False" => (FALSE_WORDS, 0.0),
        _ => return None,
    };
    let means_it = |choice: &&Value| match choice {
        Value::Str(text) => words.contains(&text.as_str()),
        _ => crate::equality::python_eq(choice, &Value::Float(number)),
    };
    let mut meant = choices.iter().filter(means_it);
    let first = meant.next()?;
    meant.all(|other| crate::equality::python_eq(first, other)).then_some(first)
}
