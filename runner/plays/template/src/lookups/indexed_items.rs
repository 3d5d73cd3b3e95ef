//! `indexed_items`: items with their places.

use minijinja::Value;
use minijinja::value::Tuple;

use super::flatten::flatten_once;
use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn indexed_items(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let items = flatten_once(interpreter, &given.positional)?;
    let pair = |(index, item)| Value::from(Tuple::from(vec![Value::from(index), item]));
    Ok(items.into_iter().enumerate().map(pair).collect())
}
