//! `items`: the terms, and the items of those that are lists.

use minijinja::Value;

use super::flatten::flatten_once;
use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn items(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    flatten_once(interpreter, &given.positional)
}
