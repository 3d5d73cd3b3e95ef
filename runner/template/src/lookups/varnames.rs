//! `varnames`: names of variables that match regular expressions.

use minijinja::Value;

use crate::marker::Run;
use crate::run::{Given, Interpreter};
use crate::types::type_name;

pub(super) fn varnames(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let names = interpreter.evaluation.scope.names();
    let mut found = Vec::new();
    for term in &given.positional {
        if term.as_str().is_none() {
            let type_name = type_name(term);
            let message = format!("Invalid setting identifier, \"{term}\" is not a string, it is a {type_name}");
            return Err(interpreter.raise(message));
        }
        for name in &names {
            let name = Value::from(name.clone());
            let matches = interpreter.perform_test("search", &[name.clone(), term.clone()]);
            let matches = matches.map_err(|stop| {
                interpreter.raise(format!("Unable to use \"{term}\" as a search parameter: {}", stop.0.message))
            })?;
            if matches {
                found.push(name);
            }
        }
    }
    Ok(found)
}
