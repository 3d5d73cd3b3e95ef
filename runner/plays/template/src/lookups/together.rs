//! `together`: the first items of all lists, then the second ones, and so on.

use minijinja::Value;

use super::flatten::flatten_once;
use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn together(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    if given.positional.is_empty() {
        return Err(interpreter.raise("with_together requires at least one element in each list"));
    }
    let lists = given.positional.iter().map(|term| interpreter.read_items(term)).collect::<Run<Vec<_>>>()?;
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    interpreter.produce(longest.saturating_mul(lists.len()))?;
    let row = |index| {
        let row: Vec<Value> =
            lists.iter().map(|list| list.get(index).cloned().unwrap_or_else(|| Value::from(()))).collect();
        flatten_once(interpreter, &row).map(Value::from)
    };
    (0..longest).map(row).collect()
}
