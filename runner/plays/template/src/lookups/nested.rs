//! `nested`: each item of the first list with each of the second, and so on.

use minijinja::Value;

use super::flatten::{flatten_once, is_list};
use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn nested(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let Some((first, rest)) = given.positional.split_first() else {
        return Err(interpreter.raise("with_nested requires at least one element in the nested list"));
    };
    let mut rows = interpreter.read_items(first)?;
    for list in rest {
        // As in Python, the items of nothing are not read.
        if rows.is_empty() {
            break;
        }
        let items = interpreter.read_items(list)?;
        interpreter.produce(rows.len().saturating_mul(items.len()))?;
        let mut next = Vec::new();
        for row in &rows {
            for item in &items {
                next.push(Value::from(flatten_once(interpreter, &[row.clone(), item.clone()])?));
            }
        }
        rows = next;
    }
    rows.iter().map(|row| flat(interpreter, row)).collect()
}

fn flat(interpreter: &Interpreter<'_>, row: &Value) -> Run<Value> {
    let items = if is_list(row) || row.as_str().is_some() {
        interpreter.read_items(row)?
    } else {
        let type_name = crate::types::type_name(row);
        return Err(interpreter.raise(format!("'{type_name}' object is not iterable")));
    };
    flatten_once(interpreter, &items).map(Value::from)
}
