//! `varnames`: names of variables that match regular expressions.

use minijinja::Value;
use modbox_python_re::{Flags, Pattern, Subject};

use crate::marker::Run;
use crate::run::{Given, Interpreter};
use crate::types::type_name;

pub(super) fn varnames(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let names = interpreter.evaluation.scope.names();
    let mut found = Vec::new();
    for term in &given.positional {
        let Some(text) = term.as_str() else {
            let type_name = type_name(term);
            let message =
                format!("Invalid setting identifier, \"{term}\" is not a string, it is a <class '{type_name}'>");
            return Err(interpreter.raise(message));
        };
        let failed = |error| format!("Unable to use \"{text}\" as a search parameter: {error}");
        let pattern = Pattern::cached(text, Subject::Text, Flags::default());
        let pattern = pattern.map_err(|error| interpreter.raise(failed(error)))?;
        for name in &names {
            let matched = pattern.search(name.as_bytes());
            if matched.map_err(|error| interpreter.raise(failed(error)))?.is_some() {
                found.push(Value::from(name.clone()));
            }
        }
    }
    Ok(found)
}
