//! `dict`: keys and values.

use minijinja::Value;
use modbox_jinja::values::{self, entries};

use crate::marker::Run;
use crate::run::{Given, Interpreter};
use crate::types::type_name;

pub(super) fn dict(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let mut pairs = Vec::new();
    for term in &given.positional {
        let Some(all) = entries(term) else {
            let text = interpreter.checked(values::text(term))?;
            let found = type_name(term);
            let message = format!("the 'dict' lookup plugin expects a dictionary, got '{text}' of type '{found}'");
            return Err(interpreter.raise(message));
        };
        pairs.extend(all.into_iter().map(|(key, value)| Value::from_pairs([("key", key), ("value", value)])));
    }
    Ok(pairs)
}
