//! `subelements`: each dict of a list with each item of a list in it.

use minijinja::Value;
use minijinja::value::Tuple;
use modbox_jinja::values::{self, Table, View, entries, is_true, view};

use super::flatten::is_list;
use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn subelements(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let (list, path, flags) = match &given.positional[..] {
        [list, path] => (list, path, None),
        [list, path, flags] => (list, path, Some(flags)),
        _ => return Err(wrong_terms(interpreter, "")),
    };
    let is_dict = matches!(view(list), View::Dict);
    let Some(path) = path.as_str().filter(|_| is_dict || is_list(list)) else {
        return Err(wrong_terms(interpreter, "first a dict or a list, second a string pointing to the subkey"));
    };
    if is_dict && is_skipped(list) {
        return Ok(Vec::new());
    }
    let elements = match entries(list) {
        Some(entries) => entries.into_iter().map(|(_, value)| value).collect(),
        None => interpreter.read_items(list)?,
    };
    let skips_missing = match flags {
        None => false,
        Some(flags) if matches!(view(flags), View::Dict) => {
            get(flags, "skip_missing").is_some_and(|value| is_true(&value) && !is_no(&value))
        }
        Some(_) => {
            return Err(wrong_terms(
                interpreter,
                "the optional third item must be a dict with flags ('skip_missing',)",
            ));
        }
    };
    let mut found = Vec::new();
    for element in elements.iter().filter(|element| !is_skipped(element)) {
        let (rest, items) = taken(interpreter, element, path, skips_missing)?;
        interpreter.produce(items.len())?;
        found.extend(items.into_iter().map(|item| Value::from(Tuple::from(vec![rest.clone(), item]))));
    }
    Ok(found)
}

fn wrong_terms(interpreter: &Interpreter<'_>, detail: &str) -> crate::marker::Stop {
    interpreter.raise(format!("subelements lookup expects a list of two or three items, {detail}"))
}

fn is_skipped(value: &Value) -> bool {
    get(value, "skipped").is_some_and(|skipped| !matches!(view(&skipped), View::Bool(false)))
}

/// Says whether a text stands for false.
fn is_no(value: &Value) -> bool {
    let text = value.as_str().map(str::to_lowercase);
    !matches!(text.as_deref(), None | Some("y" | "yes" | "on" | "1" | "true" | "t" | "1.0"))
}

fn get(dict: &Value, key: &str) -> Option<Value> {
    match view(dict) {
        View::Dict => dict.as_object()?.get_value(&Value::from(key)),
        _ => None,
    }
}

/// Returns a dict without the list at a path, and the items of that list.
fn taken(interpreter: &Interpreter<'_>, element: &Value, path: &str, skips_missing: bool) -> Run<(Value, Vec<Value>)> {
    if !matches!(view(element), View::Dict) {
        let text = interpreter.checked(values::text(element))?;
        return Err(interpreter.raise(format!("subelements lookup expects a dictionary, got '{text}'")));
    }
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    let Some(value) = get(element, key) else {
        if skips_missing {
            return Ok((element.clone(), Vec::new()));
        }
        let text = interpreter.checked(values::text(element))?;
        return Err(interpreter.raise(format!("could not find '{key}' key in iterated item '{text}'")));
    };
    match rest {
        Some(rest) if matches!(view(&value), View::Dict) => {
            let (inner, items) = taken(interpreter, &value, rest, skips_missing)?;
            Ok((with(interpreter, element, key, Some(inner))?, items))
        }
        Some(_) if skips_missing => Ok((element.clone(), Vec::new())),
        None if is_list(&value) => {
            let items = interpreter.read_items(&value)?;
            Ok((with(interpreter, element, key, None)?, items))
        }
        _ => {
            let kind = if rest.is_some() { "dictionary" } else { "list" };
            let text = interpreter.checked(values::text(&value))?;
            Err(interpreter.raise(format!("the key {key} should point to a {kind}, got '{text}'")))
        }
    }
}

/// Returns a dict with another value of a key, or without the key.
fn with(interpreter: &Interpreter<'_>, dict: &Value, key: &str, value: Option<Value>) -> Run<Value> {
    let mut table = Table::default();
    for (known, old) in entries(dict).unwrap_or_default() {
        let is_changed = known.as_str() == Some(key);
        let Some(value) = (if is_changed { value.clone() } else { Some(old) }) else { continue };
        interpreter.checked(table.insert(known, value))?;
    }
    Ok(table.into_value())
}
