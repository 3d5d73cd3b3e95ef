//! `set_fact`: sets variables of the host. Their values are data: text in them is never a template.

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::load::values;
use crate::report::message::Message;

/// Sets variables.
///
/// # Errors
///
/// The task gives none, or a name that variables cannot have.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let cacheable = context.flag("cacheable", false)?;
    let mut facts = std::mem::take(&mut context.args);
    facts.shift_remove("cacheable");
    if let Some(raw) = facts.shift_remove("_raw_params") {
        let Value::Dict(entries) = raw else {
            return Err(ActionError::failed(
                "No key/value pairs provided, at least one is required for this action to succeed",
            ));
        };
        for (name, value) in entries {
            facts.entry(name).or_insert(value);
        }
    }
    if facts.is_empty() {
        return Err(ActionError::failed(
            "No key/value pairs provided, at least one is required for this action to succeed",
        ));
    }
    check_names(context, facts.keys())?;
    let mut result = entry("ansible_facts", facts);
    result.insert("_ansible_facts_cacheable".to_owned(), Value::Bool(cacheable));
    Ok(result)
}

/// Checks that names are those of variables.
///
/// # Errors
///
/// One is not.
pub fn check_names<'a>(
    context: &ActionContext<'_>,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), ActionError> {
    for name in names {
        if !values::is_variable_name(name) {
            let shown = modbox_python_json::str_repr(name);
            let message = Message::new(format!("Invalid variable name {shown}.")).with_help(
                "Variable names must be strings starting with a letter or underscore character, and contain only letters, \
                 numbers and underscores.",
            );
            return Err(ActionError::Wrong(Box::new(message.at(context.excerpt_of_name(name)))));
        }
    }
    Ok(())
}
