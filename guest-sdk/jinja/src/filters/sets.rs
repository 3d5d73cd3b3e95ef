//! Filters of sets: `unique`, `union`, `intersect`, `difference`, `symmetric_difference`.
//!
//! Python's sets have no order; the results here are in the order of the first occurrence.

use std::collections::HashSet;

use indexmap::IndexSet;
use minijinja::Value;

use super::attribute::{Attribute, folded};
use crate::call::{Call, given};
use crate::failure::{Outcome, failure};
use crate::values::{Key, ValueError, View, contains, equal, is_true, items, type_name, view};

/// Returns the items without repetitions.
pub(super) fn unique(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [case_sensitive, attribute]) = call.bind(["a"], ["case_sensitive", "attribute"])?;
    let attribute = given(attribute).filter(is_true);
    let case = given(case_sensitive);
    let all = items(&value)?;
    let getter = Attribute::new(attribute.as_ref());
    match hashed(&all, &getter, case.as_ref().is_some_and(is_true)) {
        Ok(unique) => Ok(Value::from(unique)),
        Err(error) => {
            let demanded = case.is_some_and(|case| matches!(view(&case), View::Bool(false)));
            if demanded || attribute.is_some() {
                let reason = "Jinja2's unique filter failed and we cannot fall back to Ansible's version as it does not \
                              support the parameters supplied";
                let cause = error.detail().unwrap_or_default();
                return Err(failure(format!("{reason}: {cause}")));
            }
            compared(&all).map(Value::from)
        }
    }
}

fn hashed(all: &[Value], attribute: &Attribute, case_sensitive: bool) -> Outcome<Vec<Value>> {
    let (mut seen, mut out) = (HashSet::new(), Vec::new());
    for item in all {
        let key = folded(attribute.existing(item)?, case_sensitive)?;
        if seen.insert(Key::new(key)?) {
            out.push(item.clone());
        }
    }
    Ok(out)
}

/// Removes repetitions of items that have no hash.
fn compared(all: &[Value]) -> Outcome<Vec<Value>> {
    let mut out: Vec<Value> = Vec::new();
    for item in all {
        if !has(&out, item)? {
            out.push(item.clone());
        }
    }
    Ok(out)
}

fn has(all: &[Value], item: &Value) -> Outcome<bool> {
    for other in all {
        if equal(item, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The two lists of a filter, and their sets if all items have a hash.
struct Lists {
    first: Value,
    second: Value,
    sets: Option<(IndexSet<Key>, IndexSet<Key>)>,
}

impl Lists {
    fn new(call: &Call<'_, '_, '_>) -> Outcome<Self> {
        let ([first, second], []) = call.bind(["a", "b"], [])?;
        let sets = set(&first).ok().zip(set(&second).ok());
        Ok(Self { first, second, sets })
    }

    /// Keeps the items of the first list that are, or are not, in the second one, which may be a dict or text.
    fn kept(&self, wanted: bool) -> Outcome<Vec<Value>> {
        let mut out = Vec::new();
        for item in items(&self.first)? {
            if contains(&self.second, &item)? == wanted {
                out.push(item);
            }
        }
        distinct(&out)
    }

    fn shared(&self) -> Outcome<Vec<Value>> {
        let Some((first, second)) = &self.sets else { return self.kept(true) };
        // Python takes the items of the smaller set.
        let take = |key: &Key| if second.len() <= first.len() { second.get(key) } else { first.get(key) };
        let both = first.iter().filter(|key| second.contains(*key));
        Ok(both.filter_map(take).map(|key| key.value().clone()).collect())
    }

    fn united(&self) -> Outcome<Vec<Value>> {
        if let Some((first, second)) = &self.sets {
            return Ok(first.union(second).map(|key| key.value().clone()).collect());
        }
        if !matches!((view(&self.first), view(&self.second)), (View::List, View::List) | (View::Tuple, View::Tuple)) {
            let (first, second) = (type_name(&self.first), type_name(&self.second));
            return Err(failure(format!("unsupported operand type(s) for +: '{first}' and '{second}'")));
        }
        let mut all = items(&self.first)?;
        all.extend(items(&self.second)?);
        distinct(&all)
    }
}

fn set(value: &Value) -> Result<IndexSet<Key>, ValueError> {
    items(value)?.into_iter().map(Key::new).collect()
}

/// Removes repetitions, by hash if all items have one.
fn distinct(all: &[Value]) -> Outcome<Vec<Value>> {
    hashed(all, &Attribute::default(), true).or_else(|_| compared(all))
}

/// Returns the items that both lists have.
pub(super) fn intersect(call: &mut Call<'_, '_, '_>) -> Outcome {
    Lists::new(call)?.shared().map(Value::from)
}

/// Returns the items that only the first list has.
pub(super) fn difference(call: &mut Call<'_, '_, '_>) -> Outcome {
    let lists = Lists::new(call)?;
    let Some((first, second)) = &lists.sets else { return lists.kept(false).map(Value::from) };
    Ok(Value::from(first.difference(second).map(|key| key.value().clone()).collect::<Vec<_>>()))
}

/// Returns the items that only one list has.
pub(super) fn symmetric_difference(call: &mut Call<'_, '_, '_>) -> Outcome {
    let lists = Lists::new(call)?;
    if let Some((first, second)) = &lists.sets {
        let only_one = first.symmetric_difference(second).map(|key| key.value().clone());
        return Ok(Value::from(only_one.collect::<Vec<_>>()));
    }
    let shared = lists.shared()?;
    let mut out = Vec::new();
    for item in lists.united()? {
        if !has(&shared, &item)? {
            out.push(item);
        }
    }
    Ok(Value::from(out))
}

/// Returns the items of both lists.
pub(super) fn union(call: &mut Call<'_, '_, '_>) -> Outcome {
    Lists::new(call)?.united().map(Value::from)
}
