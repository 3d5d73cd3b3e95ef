//! `vars`: variables by their names.

use minijinja::Value;

use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn vars(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let default = given.named.iter().find(|(name, _)| &**name == "default").map(|(_, value)| value);
    // A default of `none` is none for ansible-core.
    let default = default.filter(|value| !value.is_none());
    let mut found = Vec::new();
    for term in &given.positional {
        let Some(name) = term.as_str() else {
            let type_name = crate::types::type_name(term);
            let message = format!("Variable name must be 'str' not '{type_name}'.");
            return Err(interpreter.raise(message));
        };
        let value = interpreter.variable(name).or_else(|| default.cloned());
        // A missing variable is an error only where its item is used.
        found.push(value.unwrap_or_else(|| interpreter.missing_variable(name).value()));
    }
    Ok(found)
}
