//! `list`: the terms as they are.

use minijinja::Value;

use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn list(_: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    Ok(given.positional.clone())
}
