//! The two steps that check values: their types and the choices.

use modbox_python_json::{Dict, Value, str};

use crate::convert::{choice_meant_by_bool, convert};
use crate::equality::is_in;
use crate::run::{Positions, Run};
use crate::shared::Sharing;
use crate::spec::{ArgumentSpec, Flaw, OptionSpec, OptionType};
use crate::validated::ErrorKind;

/// Converts every value to the type of its option.
pub(crate) fn types<'a>(
    run: &mut Run<'a>,
    spec: &'a ArgumentSpec,
    parameters: &mut Dict,
    at: &Positions,
    sharing: &mut Sharing<'a>,
) {
    for ((name, option), at) in spec.options.iter().zip(at) {
        let Some((_, value)) = at.and_then(|at| parameters.get_index_mut(at)) else { continue };
        if *value == Value::Null && !option.required && option.default_value().is_none() {
            continue;
        }
        let found = value.type_name();
        let was_container = matches!(value, Value::List(_) | Value::Dict(_));
        let converted = convert(value, option.option_type, run.environment).and_then(|()| match option.elements {
            Some(wanted) => elements(run, name, option, wanted, value, sharing),
            None => Ok(()),
        });
        if was_container && !matches!(value, Value::List(_) | Value::Dict(_)) {
            sharing.leave(name);
        }
        if let Err(why) = converted {
            // The extra full stop is Ansible's.
            let (wanted, place) = (option.option_type.name(), run.found_in_quoted("."));
            let message =
                format!("argument '{name}' is of type {found}{place} and we were unable to convert to {wanted}: {why}");
            run.error(ErrorKind::ArgumentType, message);
        }
    }
}

/// Converts the items of a list. Items that do not fit are removed.
fn elements(
    run: &mut Run<'_>,
    name: &str,
    option: &OptionSpec,
    wanted: OptionType,
    value: &mut Value,
    sharing: &mut Sharing<'_>,
) -> Result<(), String> {
    let items = match value {
        Value::List(items) => items,
        other => {
            let place = run.found_in_quoted(".");
            let message = format!(
                "Invalid type {} for option '{}'{place}, elements value check is supported only with 'list' type",
                option.option_type.name(),
                str(other)
            );
            run.error(ErrorKind::ArgumentType, message);
            *other = Value::List(iterated(other)?);
            sharing.leave(name);
            let Value::List(items) = other else { unreachable!("it was just made one") };
            items
        }
    };
    if sharing.has(name) {
        let dicts = items.iter().enumerate().filter(|(_, item)| matches!(item, Value::Dict(_))).map(|(old, _)| old);
        let fits = wanted == OptionType::Dict || wanted == OptionType::Raw;
        let pairs = dicts.filter(|_| fits).map(|old| (old, kept_before(items, old, wanted, run))).collect();
        sharing.keep_items(name, pairs);
    }
    let mut misfits = Vec::new();
    items.retain_mut(|item| {
        let found = item.type_name();
        convert(item, wanted, run.environment).map_err(|why| misfits.push((found, why))).is_ok()
    });
    for (found, why) in misfits {
        let (wanted, place) = (wanted.name(), run.found_in_quoted(""));
        let message = format!(
            "Elements value for option '{name}'{place} is of type {found} and we were unable to convert to {wanted}: {why}"
        );
        run.error(ErrorKind::Element, message);
    }
    Ok(())
}

/// Returns how many of the items before one stay in the list.
fn kept_before(items: &[Value], one: usize, wanted: OptionType, run: &Run<'_>) -> usize {
    items[..one].iter().filter(|item| convert(&mut (*item).clone(), wanted, run.environment).is_ok()).count()
}

/// Returns the items that Python's `for` finds in a value that is not a list.
fn iterated(value: &Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Str(text) => Ok(text.chars().map(|c| Value::from(c.to_string())).collect()),
        Value::Surrogates(text) => {
            let units = char::decode_utf16(text.units().iter().copied());
            let one = |unit: Result<char, std::char::DecodeUtf16Error>| match unit {
                Ok(c) => Value::from(c.to_string()),
                Err(lone) => Value::from_utf16(vec![lone.unpaired_surrogate()]),
            };
            Ok(units.map(one).collect())
        }
        Value::Dict(entries) => Ok(entries.keys().map(|key| Value::from(key.as_str())).collect()),
        other => Err(format!("'{}' object is not iterable", other.type_name())),
    }
}

/// Checks the value of each option that has choices.
pub(crate) fn choices(run: &mut Run<'_>, spec: &ArgumentSpec, parameters: &mut Dict, at: &Positions) {
    for ((name, option), at) in spec.options.iter().zip(at) {
        if let Some(message) = flawed_choices(name, option) {
            let message = format!("{message}{}", run.found_in());
            run.error(ErrorKind::ArgumentType, message);
            continue;
        }
        let Some(choices) = &option.choices else { continue };
        let Some((_, value)) = at.and_then(|at| parameters.get_index_mut(at)) else { continue };
        if let Some(message) = not_chosen(name, choices, value) {
            let message = format!("{message}{}", run.found_in());
            run.error(ErrorKind::ArgumentValue, message);
        }
    }
}

fn flawed_choices(name: &str, option: &OptionSpec) -> Option<String> {
    option.flaws.iter().find_map(|flaw| match flaw {
        Flaw::ChoicesAreNoList(choices) => {
            Some(format!("internal error: choices for argument {name} are not iterable: {}", str(choices)))
        }
        Flaw::AliasesAreNoList => None,
    })
}

/// Returns the error for a value, if there is one. A bool that was meant to be a choice becomes that choice.
fn not_chosen(name: &str, choices: &[Value], value: &mut Value) -> Option<String> {
    let allowed = |value: &Value| is_in(value, choices);
    if let Value::List(items) = value {
        let others: Vec<String> = items.iter().filter(|item| !allowed(item)).map(str).collect();
        let message = || {
            let (choices, others) = (joined(choices), others.join(", "));
            format!("value of {name} must be one or more of: {choices}. Got no match for: {others}")
        };
        return (!others.is_empty()).then(message);
    }
    if allowed(value) {
        return None;
    }
    if let Some(choice) = value.as_str().and_then(|text| choice_meant_by_bool(text, choices)) {
        *value = choice.clone();
        return None;
    }
    Some(format!("value of {name} must be one of: {}, got: {}", joined(choices), str(value)))
}

fn joined(values: &[Value]) -> String {
    values.iter().map(str).collect::<Vec<_>>().join(", ")
}
