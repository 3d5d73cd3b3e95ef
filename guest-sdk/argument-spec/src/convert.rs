//! Converts a value to an option's type, or returns Ansible's reason why it cannot.

use modbox_python_json::{Surrogates, Value, encode, repr, str};

use crate::dict_text::dict_from_text;
use crate::environment::{Environment, expand_path};
use crate::lone;
use crate::number::{python_strip, to_float, to_int};
use crate::size::{Unit, to_size};
use crate::spec::OptionType;

const TRUE_WORDS: [&str; 6] = ["y", "yes", "on", "1", "true", "t"];
const FALSE_WORDS: [&str; 6] = ["n", "no", "off", "0", "false", "f"];

/// Converts a value in place. A value that has the type already is not changed.
///
/// # Errors
///
/// The reason, without the option's name.
pub(crate) fn convert(value: &mut Value, to: OptionType, environment: &dyn Environment) -> Result<(), String> {
    use OptionType as T;
    match (to, &*value) {
        (T::Raw, _)
        | (T::Str, Value::Str(_) | Value::Surrogates(_))
        | (T::Bool, Value::Bool(_))
        | (T::Int, Value::Int(_) | Value::BigInt(_) | Value::Bool(_))
        | (T::Float, Value::Float(_))
        | (T::List, Value::List(_))
        | (T::Dict, Value::Dict(_)) => return Ok(()),
        (T::Path, Value::Str(text)) if !text.contains(['$', '~']) => return Ok(()),
        _ => {}
    }
    *value = converted(value, to, environment)?;
    Ok(())
}

fn converted(value: &Value, to: OptionType, environment: &dyn Environment) -> Result<Value, String> {
    if let Value::Surrogates(text) = value
        && let Some(result) = with_stand_ins(text, to, environment)
    {
        return result;
    }
    match to {
        OptionType::Str => Ok(to_text(value)),
        OptionType::Path => to_path(value, environment),
        OptionType::Raw => Ok(value.clone()),
        OptionType::Bool => to_bool(value),
        OptionType::Int => to_int(value).ok_or_else(|| format!("\"{}\" cannot be converted to an int", repr(value))),
        OptionType::Float => to_float(value).map(Value::Float).ok_or_else(|| no_way(value, "a float")),
        OptionType::List => to_list(value),
        OptionType::Dict => match value {
            Value::Str(text) => dict_from_text(text).map_err(ToOwned::to_owned),
            _ => Err(no_way(value, "a dict")),
        },
        OptionType::Json | OptionType::JsonArg => match value {
            Value::Str(text) => Ok(python_strip(text).into()),
            Value::List(_) | Value::Dict(_) => Ok(encode(value).into()),
            _ => Err(no_way(value, "a json string")),
        },
        OptionType::Bytes => to_size(value, Unit::Bytes).ok_or_else(|| no_way(value, "a Byte value")),
        OptionType::Bits => to_size(value, Unit::Bits).ok_or_else(|| no_way(value, "a Bit value")),
    }
}

/// Converts text with lone surrogates. Returns `None` for types that do not change the text.
fn with_stand_ins(text: &Surrogates, to: OptionType, environment: &dyn Environment) -> Option<Result<Value, String>> {
    if !matches!(to, OptionType::Path | OptionType::List | OptionType::Dict | OptionType::Json | OptionType::JsonArg) {
        return None;
    }
    let text = lone::stand_in(text).unwrap_or_else(|| text.to_string_lossy());
    Some(converted(&Value::Str(text), to, environment).map(lone::restore))
}

/// Returns the bool that a value stands for, by the rules of `bool` options, which hold for internal arguments too.
///
/// # Errors
///
/// The reason in Ansible's words.
pub fn bool_of(value: &Value) -> Result<bool, String> {
    to_bool(value).map(|truth| truth == Value::Bool(true))
}

fn to_bool(value: &Value) -> Result<Value, String> {
    let text = match value {
        Value::Bool(_) => return Ok(value.clone()),
        Value::Int(1) => return Ok(true.into()),
        Value::Int(0) => return Ok(false.into()),
        Value::Float(number) if *number == 1.0 => return Ok(true.into()),
        Value::Float(number) if *number == 0.0 => return Ok(false.into()),
        Value::Str(text) => match bool_from_word(text) {
            Some(truth) => return Ok(truth.into()),
            None => text.clone(),
        },
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Surrogates(_) => str(value),
        Value::Null | Value::List(_) | Value::Dict(_) => return Err(no_way(value, "a bool")),
    };
    let words: Vec<String> = TRUE_WORDS.iter().chain(&FALSE_WORDS).map(|word| format!("'{word}'")).collect();
    Err(format!("The value '{text}' is not a valid boolean. Valid booleans include: {}, 0, 1", words.join(", ")))
}

/// Returns the bool for a word. All words are ASCII, and the lower case of no other character is one of their letters.
fn bool_from_word(text: &str) -> Option<bool> {
    let word = python_strip(text);
    let is = |words: [&str; 6]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    if is(TRUE_WORDS) { Some(true) } else { is(FALSE_WORDS).then_some(false) }
}

fn to_text(value: &Value) -> Value {
    match value {
        Value::Null => "".into(),
        Value::Str(_) | Value::Surrogates(_) => value.clone(),
        _ => str(value).into(),
    }
}

fn to_path(value: &Value, environment: &dyn Environment) -> Result<Value, String> {
    match to_text(value) {
        Value::Str(path) if path.starts_with('~') && path.split('/').next().is_some_and(|user| user.contains('\0')) => {
            Err("embedded null byte".to_owned())
        }
        Value::Str(path) => Ok(expand_path(&path, environment).into()),
        other => Ok(other),
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

/// Returns the choice that a bool was meant to be. YAML readers turn `yes` into true, and a `str` option turns that
/// into `True`; if exactly one choice means true, it was meant.
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
