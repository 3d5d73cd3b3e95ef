//! Reads the values of a spec's keys. A value of the wrong type is an error that names option and key.

use modbox_python_json::{Dict, Value};

use crate::error::SpecError;
use crate::spec::{Access, OptionType};

/// How strictly a spec is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every mistake is an error.
    Checked,
    /// Mistakes have the effect that they have in Ansible.
    AsAnsible,
}

pub(crate) fn option_type(key: &str, place: &str, value: &Value) -> Result<OptionType, SpecError> {
    let unknown = || wrong_type(key, place, "one of Ansible's option types", value);
    value.as_str().and_then(OptionType::from_name).ok_or_else(unknown)
}

pub(crate) fn access(key: &str, place: &str, value: &Value) -> Result<Access, SpecError> {
    match value.as_str() {
        Some("read") => Ok(Access::Read),
        Some("write") => Ok(Access::Write),
        Some("entry") => Ok(Access::Entry),
        _ => Err(wrong_type(key, place, "`read`, `write` or `entry`", value)),
    }
}

pub(crate) fn optional<'a, T>(
    value: &'a Value,
    parse: impl FnOnce(&'a Value) -> Result<T, SpecError>,
) -> Result<Option<T>, SpecError> {
    if *value == Value::Null { Ok(None) } else { parse(value).map(Some) }
}

pub(crate) fn boolean(key: &str, place: &str, value: &Value) -> Result<bool, SpecError> {
    value.as_bool().ok_or_else(|| wrong_type(key, place, "a bool", value))
}

/// Reads a bool. Ansible only checks whether a value counts as true.
pub(crate) fn truth(mode: Mode, key: &str, place: &str, value: &Value) -> Result<bool, SpecError> {
    match mode {
        Mode::Checked => boolean(key, place, value),
        Mode::AsAnsible => Ok(value.is_truthy()),
    }
}

/// Reads a list of names, or one name. Ansible reads the characters of a text as the items of a list.
pub(crate) fn names(mode: Mode, key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    match (mode, value) {
        (Mode::AsAnsible, Value::Str(text)) => Ok(text.chars().map(String::from).collect()),
        _ => texts(key, place, value),
    }
}

pub(crate) fn text(key: &str, place: &str, value: &Value) -> Result<String, SpecError> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong_type(key, place, "a string", value))
}

/// Reads text or a number: YAML readers turn versions such as `1.2` into floats.
pub(crate) fn scalar_text(key: &str, place: &str, value: &Value) -> Result<String, SpecError> {
    match value {
        Value::Str(_) | Value::Int(_) | Value::Float(_) => Ok(modbox_python_json::str(value)),
        _ => Err(wrong_type(key, place, "a string", value)),
    }
}

pub(crate) fn list<'a>(key: &str, place: &str, value: &'a Value) -> Result<&'a [Value], SpecError> {
    value.as_list().ok_or_else(|| wrong_type(key, place, "a list", value))
}

pub(crate) fn texts(key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    list(key, place, value)?.iter().map(|item| text(key, place, item)).collect()
}

pub(crate) fn text_or_texts(key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    if let Value::Str(text) = value { Ok(vec![text.clone()]) } else { texts(key, place, value) }
}

pub(crate) fn paragraphs(key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    text_or_texts(key, place, value)
}

pub(crate) fn dict<'a>(key: &str, place: &str, value: &'a Value) -> Result<&'a Dict, SpecError> {
    value.as_dict().ok_or_else(|| wrong_type(key, place, "a dict", value))
}

pub(crate) fn wrong_type(key: &str, place: &str, expected: &'static str, value: &Value) -> SpecError {
    let found = match value {
        Value::Str(text) if text.len() <= 40 => format!("`{text}`"),
        _ => value.type_name().to_owned(),
    };
    SpecError::WrongType { place: place.to_owned(), key: key.to_owned(), expected, found }
}
