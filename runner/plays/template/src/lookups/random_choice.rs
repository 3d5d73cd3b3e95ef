//! `random_choice`: one of the terms.

use minijinja::Value;

use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn random_choice(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    if given.positional.is_empty() {
        return Ok(Vec::new());
    }
    let terms = Value::from(given.positional.clone());
    interpreter.apply_filter("random", &[terms]).map(|chosen| vec![chosen])
}
