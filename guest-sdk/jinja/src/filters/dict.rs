//! Filters on dicts: conversion to and from lists, sorting, access.

use minijinja::Value;

use crate::absent::absent;
use crate::call::{Call, flag, given};
use crate::failure::{Outcome, failure};
use crate::made::Made;
use crate::values::{Table, ValueError, View, Walk, entries, get_item, items, repr, sort, text, type_name, view};

/// Returns a list of dicts with the keys and values of a dict.
pub(super) fn to_items(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([dict], [key_name, value_name]) = call.bind(["mydict"], ["key_name", "value_name"])?;
    let wrong = || failure(format!("dict2items requires a dictionary, got {} instead.", type_name(&dict)));
    let all = entries(&dict).ok_or_else(wrong)?;
    let key_name = key_name.unwrap_or_else(|| Value::from("key"));
    let value_name = value_name.unwrap_or_else(|| Value::from("value"));
    let item = |(key, value): (Value, Value)| -> Outcome {
        let mut table = Table::default();
        table.insert(key_name.clone(), key)?;
        table.insert(value_name.clone(), value)?;
        Ok(table.into_value())
    };
    Ok(Value::from(all.into_iter().map(item).collect::<Outcome<Vec<_>>>()?))
}

/// Returns a dict of a list of dicts with keys and values.
pub(super) fn from_items(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([list], [key_name, value_name]) = call.bind(["mylist"], ["key_name", "value_name"])?;
    if !matches!(view(&list), View::List | View::Tuple) {
        return Err(failure(format!("items2dict requires a list, got {} instead.", type_name(&list))));
    }
    let key_name = key_name.unwrap_or_else(|| Value::from("key"));
    let value_name = value_name.unwrap_or_else(|| Value::from("value"));
    let mut table = Table::default();
    for item in items(&list)? {
        let (key, value) = (get_item(&item, &key_name), get_item(&item, &value_name));
        let is_dict = matches!(view(&item), View::Dict);
        if !is_dict && (key_name.as_str().is_some() || value_name.as_str().is_some()) {
            return Err(failure("items2dict requires a list of dictionaries"));
        }
        if key.is_undefined() || value.is_undefined() {
            let (key, value, list) = (text(&key_name)?, text(&value_name)?, repr(&list)?);
            return Err(failure(format!(
                "items2dict requires each dictionary in the list to contain the keys '{key}' and '{value}', got {list} instead."
            )));
        }
        table.insert(key, value)?;
    }
    Ok(table.into_value())
}

/// Returns keys and values of a dict, in order of one of them.
pub(super) fn dict_sort(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([dict], [case_sensitive, by, reverse]) = call.bind(["value"], ["case_sensitive", "by", "reverse"])?;
    let by_value = match by.as_ref().map(Value::as_str) {
        None | Some(Some("key")) => false,
        Some(Some("value")) => true,
        _ => return Err(failure("You can only sort by either \"key\" or \"value\"")),
    };
    let case_sensitive = flag(case_sensitive.as_ref());
    let all = items_of(&dict)?.into_iter();
    let keyed = all.map(|(key, value)| {
        let order = if by_value { value.clone() } else { key.clone() };
        super::attribute::folded(order, case_sensitive).map(|order| (order, Value::from((key, value))))
    });
    Ok(Value::from(sort(keyed.collect::<Outcome<Vec<_>>>()?, flag(reverse.as_ref()))?))
}

fn items_of(dict: &Value) -> Outcome<Vec<(Value, Value)>> {
    entries(dict).ok_or_else(|| failure(format!("'{}' object has no attribute 'items'", type_name(dict))))
}

/// Returns keys and values of a dict.
pub(super) fn item_pairs(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([dict], []) = call.bind(["value"], [])?;
    let all = entries(&dict).ok_or_else(|| failure("Can only get item pairs from a mapping."))?;
    Ok(Value::from(all.into_iter().map(Value::from).collect::<Vec<_>>()))
}

/// Returns an attribute of an object, which an entry of a dict is not.
pub(super) fn attr(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, name], []) = call.bind(["obj", "name"], [])?;
    let name = Value::from(text(&name)?);
    let has_attributes = matches!(view(&value), View::Date(_) | View::DateTime(_) | View::Time(_) | View::TimeDelta(_))
        || value.downcast_object_ref::<crate::values::Group>().is_some();
    let found = if has_attributes { get_item(&value, &name) } else { Value::UNDEFINED };
    Ok(if found.is_undefined() { absent(call.state, &value, &name) } else { found })
}

/// Returns the item of a container, and of the items in it.
pub(super) fn extract(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([key, container], [more]) = call.bind(["item", "container"], ["morekeys"])?;
    let mut keys = vec![key];
    if let Some(more) = given(more) {
        match view(&more) {
            View::List => keys.extend(items(&more)?),
            _ => keys.push(more),
        }
    }
    let step = |value: Value, key: &Value| match get_item(&value, key) {
        found if found.is_undefined() && !value.is_undefined() => absent(call.state, &value, key),
        found => found,
    };
    Ok(keys.iter().fold(container, step))
}

/// Returns each element with each item of a list in it.
pub(super) fn subelements(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, path], [skip_missing]) = call.bind(["obj", "subelements"], ["skip_missing"])?;
    let skip_missing = flag(skip_missing.as_ref());
    let elements = match view(&value) {
        View::Dict => entries(&value).unwrap_or_default().into_iter().map(|(_, value)| value).collect(),
        View::List => items(&value)?,
        _ => return Err(failure("obj must be a list of dicts or a nested dict")),
    };
    let path = match view(&path) {
        View::List => items(&path)?,
        View::Str(path) => path.split('.').map(Value::from).collect(),
        _ => return Err(failure("subelements must be a list or a string")),
    };
    let mut out = Vec::new();
    for element in elements {
        for item in listed(&element, &path, skip_missing)? {
            out.push(Value::from((element.clone(), item)));
        }
    }
    super::limits::list_of(out)
}

fn listed(element: &Value, path: &[Value], skip_missing: bool) -> Outcome<Vec<Value>> {
    let mut value = element.clone();
    for key in path {
        let View::Dict = view(&value) else {
            let (key, value) = (text(key)?, repr(&value)?);
            return Err(failure(format!("the key {key} should point to a dictionary, got '{value}'")));
        };
        let item = get_item(&value, key);
        if item.is_undefined() {
            if skip_missing {
                return Ok(Vec::new());
            }
            let (key, value) = (repr(key)?, repr(&value)?);
            return Err(failure(format!("could not find {key} key in iterated item {value}")));
        }
        value = item;
    }
    match view(&value) {
        View::List => Ok(items(&value)?),
        _ => {
            let key = path.last().map_or_else(|| Ok(String::new()), repr)?;
            Err(failure(format!("the key {key} should point to a list, got {}", repr(&value)?)))
        }
    }
}

/// Returns a dict of dicts by another of their entries.
pub(super) fn rekey(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([data, key], [duplicates]) = call.bind(["data", "key"], ["duplicates"])?;
    let overwrite = match duplicates.as_ref().map(Value::as_str) {
        None | Some(Some("error")) => false,
        Some(Some("overwrite")) => true,
        _ => return Err(failure("duplicates parameter to rekey_on_member has unknown value")),
    };
    let all = match view(&data) {
        View::Dict => entries(&data).unwrap_or_default().into_iter().map(|(_, value)| value).collect(),
        View::List | View::Tuple => items(&data)?,
        _ => return Err(failure("Type is not a valid list, set, or dict")),
    };
    let mut table = Table::default();
    for item in all {
        let View::Dict = view(&item) else { return Err(failure("List item is not a valid dict")) };
        let member = Table::of(&item)?.and_then(|table| table.get(&key).ok().flatten().cloned());
        let member = member.ok_or_else(|| failure(format!("Key {} was not found.", repr(&key).unwrap_or_default())))?;
        if !overwrite && table.get(&member)?.is_some() {
            return Err(failure(format!("Key {} is not unique, cannot convert to dict.", repr(&member)?)));
        }
        table.insert(member, item)?;
    }
    Ok(table.into_value())
}

/// Merges dicts.
pub(super) fn combine(call: &mut Call<'_, '_, '_>) -> Outcome {
    let [recursive, list_merge] = call
        .options(["recursive", "list_merge"])
        .map_err(|_| failure("'recursive' and 'list_merge' are the only valid keyword arguments"))?;
    let list_merge = list_merge.unwrap_or_else(|| Value::from("replace"));
    let terms = Value::from(call.positional.clone());
    let mut dicts = Vec::new();
    super::list::flatten_into(&mut dicts, &terms, Some(&Value::from(1)), true, &mut Walk::default())?;
    let Some(mut result) = dicts.pop() else { return Ok(Value::from_pairs(Vec::<(Value, Value)>::new())) };
    let merge = super::merge::Merge::new(flag(recursive.as_ref()), list_merge.as_str());
    let mut walk = Walk::default();
    for dict in dicts.into_iter().rev() {
        let merge = merge.as_ref().ok_or_else(|| {
            failure(
                "merge_hash: 'list_merge' argument can only be equal to \
            'replace', 'keep', 'append', 'prepend', 'append_rp' or 'prepend_rp'",
            )
        })?;
        if result.is_undefined() || dict.is_undefined() {
            return Err(ValueError::Undefined.into());
        }
        result = merge.of(&dict, &result, &mut walk)?;
    }
    Made::add_items(call.state, walk.visited())?;
    Ok(result)
}
