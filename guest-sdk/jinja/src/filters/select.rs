//! Filters that apply other filters and tests to each item: `map`, `select`, `reject`, `groupby`.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};

use super::attribute::{Attribute, folded};
use crate::call::{Call, str_argument};
use crate::failure::{Outcome, failure};
use crate::outside;
use crate::values::{Group, equal, is_true, items, sort};

/// Returns the items of a value; a false value has none, even if it cannot be iterated.
fn items_of(value: &Value) -> Outcome<Vec<Value>> {
    if is_true(value) { Ok(items(value)?) } else { Ok(Vec::new()) }
}

fn arguments(item: &Value, rest: &[Value], named: &[(String, Value)]) -> Vec<Value> {
    let mut all = vec![item.clone()];
    all.extend_from_slice(rest);
    if !named.is_empty() {
        all.push(Value::from(named.iter().cloned().collect::<Kwargs>()));
    }
    all
}

/// Returns an attribute of each item, or the result of a filter.
pub(super) fn map(call: &mut Call<'_, '_, '_>) -> Outcome {
    let value = call.input()?;
    let all = items_of(&value)?;
    let rest = call.positional.get(1..).unwrap_or_default().to_vec();
    let Some((name, rest)) = rest.split_first() else {
        if !call.named.iter().any(|(name, _)| name == "attribute") {
            return if all.is_empty() { Ok(Value::from(all)) } else { Err(failure("map requires a filter argument")) };
        }
        if all.is_empty() {
            return Ok(Value::from(all));
        }
        let [attribute, default] = call.options(["attribute", "default"])?;
        let attribute = Attribute::new(attribute.as_ref()).or(default);
        let state = &*call.state;
        return Ok(Value::from(all.iter().map(|item| attribute.of(state, item)).collect::<Vec<_>>()));
    };
    if all.is_empty() {
        return Ok(Value::from(all));
    }
    let name = str_argument("the name of a filter", name)?;
    let named = call.named.clone();
    let mut out = Vec::with_capacity(all.len());
    for item in &all {
        let result = outside::filter(call.state, &name, &arguments(item, rest, &named));
        out.push(result.map_err(|error| unknown(error, "filter", &name))?);
    }
    Ok(Value::from(out))
}

fn unknown(error: Error, what: &str, name: &str) -> Error {
    match error.kind() {
        kind @ (ErrorKind::UnknownFilter | ErrorKind::UnknownTest) if error.detail().is_none() => {
            Error::new(kind, format!("{what} {name} is unknown"))
        }
        _ => error,
    }
}

/// Keeps the items for which a test has a result. Without a test, the truth of the item counts.
fn keep(call: &mut Call<'_, '_, '_>, by_attribute: bool, wanted: bool) -> Outcome {
    let value = call.input()?;
    let all = items_of(&value)?;
    if all.is_empty() {
        return Ok(Value::from(all));
    }
    let mut rest = call.positional.get(1..).unwrap_or_default().to_vec();
    let attribute = match (by_attribute, rest.is_empty()) {
        (false, _) => Attribute::default(),
        (true, false) => Attribute::new(Some(&rest.remove(0))),
        (true, true) => return Err(failure("Missing parameter for attribute name")),
    };
    let test = match rest.split_first() {
        Some((name, rest)) => Some((str_argument("the name of a test", name)?.into_owned(), rest.to_vec())),
        None => None,
    };
    let named = call.named.clone();
    let mut out = Vec::new();
    for item in all {
        let subject = attribute.of(call.state, &item);
        let passes = match &test {
            Some((name, rest)) => {
                let result = outside::test(call.state, name, &arguments(&subject, rest, &named));
                result.map_err(|error| unknown(error, "test", name))?
            }
            // A value that does not exist has no truth.
            None => is_true(&attribute.existing(&item)?),
        };
        if passes == wanted {
            out.push(item);
        }
    }
    Ok(Value::from(out))
}

/// Keeps the items that pass a test.
pub(super) fn select(call: &mut Call<'_, '_, '_>) -> Outcome {
    keep(call, false, true)
}

/// Drops the items that pass a test.
pub(super) fn reject(call: &mut Call<'_, '_, '_>) -> Outcome {
    keep(call, false, false)
}

/// Keeps the items of which an attribute passes a test.
pub(super) fn select_attribute(call: &mut Call<'_, '_, '_>) -> Outcome {
    keep(call, true, true)
}

/// Drops the items of which an attribute passes a test.
pub(super) fn reject_attribute(call: &mut Call<'_, '_, '_>) -> Outcome {
    keep(call, true, false)
}

/// Sorts the items by an attribute and makes groups of those with the same one.
pub(super) fn group_by(call: &mut Call<'_, '_, '_>) -> Outcome {
    // Ansible fails on an item without the attribute before the default is used.
    let ([value, attribute], [_default, case_sensitive]) =
        call.bind(["value", "attribute"], ["default", "case_sensitive"])?;
    let attribute = Attribute::new(Some(&attribute));
    let case_sensitive = case_sensitive.as_ref().is_some_and(is_true);
    let key = |item: Value| -> Outcome<(Value, (Value, Value))> {
        let key = folded(attribute.existing(&item)?, case_sensitive)?;
        Ok((key.clone(), (key, item)))
    };
    let keyed = items(&value)?.into_iter().map(key).collect::<Outcome<Vec<_>>>()?;
    let mut groups: Vec<(Value, Group)> = Vec::new();
    for (key, item) in sort(keyed, false)? {
        match groups.last_mut() {
            Some((known, group)) if equal(known, &key)? => group.list.push(item),
            _ => {
                let grouper = if case_sensitive { key.clone() } else { attribute.existing(&item)? };
                groups.push((key, Group { grouper, list: vec![item] }));
            }
        }
    }
    Ok(Value::from(groups.into_iter().map(|(_, group)| Value::from_object(group)).collect::<Vec<_>>()))
}
