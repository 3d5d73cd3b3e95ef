//! How `combine` merges two dicts, and the lists in them.

use minijinja::Value;

use crate::failure::{Outcome, failure};
use crate::values::{Table, View, Walk, equal, items, type_name, view};

/// What happens to two lists under the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    Replace,
    Keep,
    Append,
    Prepend,
    AppendNew,
    PrependNew,
}

/// Rules for merging.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merge {
    recursive: bool,
    lists: Lists,
}

impl Merge {
    /// Returns the rules, or `None` if the word for lists is unknown.
    pub(super) fn new(recursive: bool, lists: Option<&str>) -> Option<Self> {
        let lists = match lists? {
            "replace" => Lists::Replace,
            "keep" => Lists::Keep,
            "append" => Lists::Append,
            "prepend" => Lists::Prepend,
            "append_rp" => Lists::AppendNew,
            "prepend_rp" => Lists::PrependNew,
            _ => return None,
        };
        Some(Self { recursive, lists })
    }

    /// Merges `y` into `x`. Equal dicts are not merged, so their lists stay as they are.
    pub(super) fn of(&self, x: &Value, y: &Value, walk: &mut Walk) -> Outcome {
        let (Some(mut table), Some(patch)) = (Table::of(x)?, Table::of(y)?) else {
            let (x, y) = (type_name(x), type_name(y));
            return Err(failure(format!("failed to combine variables, expected dicts but got a '{x}' and a '{y}'.")));
        };
        if table.is_empty() || equal(x, y)? {
            return Ok(y.clone());
        }
        walk.steps(table.len() + patch.len())?;
        for (key, new) in patch.iter() {
            let merged = match table.get(key)? {
                Some(old) => self.value(old, new, walk)?,
                None => new.clone(),
            };
            table.insert(key.clone(), merged)?;
        }
        Ok(table.into_value())
    }

    fn value(&self, old: &Value, new: &Value, walk: &mut Walk) -> Outcome {
        match (view(old), view(new)) {
            (View::Dict, View::Dict) if self.recursive => walk.deeper(|walk| self.of(old, new, walk)),
            (View::List, View::List) => self.list(old, new, walk),
            _ => Ok(new.clone()),
        }
    }

    fn list(&self, old: &Value, new: &Value, walk: &mut Walk) -> Outcome {
        let (first, second) = match self.lists {
            Lists::Replace => return Ok(new.clone()),
            Lists::Keep => return Ok(old.clone()),
            Lists::Append => (items(old)?, items(new)?),
            Lists::Prepend => (items(new)?, items(old)?),
            Lists::AppendNew => (without(old, new)?, items(new)?),
            Lists::PrependNew => (items(new)?, without(old, new)?),
        };
        walk.steps(first.len() + second.len())?;
        super::limits::list_of(first.into_iter().chain(second).collect())
    }
}

/// Returns the items of a list that another one lacks.
fn without(list: &Value, other: &Value) -> Outcome<Vec<Value>> {
    let others = items(other)?;
    let mut out = Vec::new();
    for item in items(list)? {
        let mut found = false;
        for other in &others {
            found = found || equal(&item, other)?;
        }
        if !found {
            out.push(item);
        }
    }
    Ok(out)
}
