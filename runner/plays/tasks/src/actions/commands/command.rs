//! `command` and `shell`: the command is the task's text, and the module gets it with a mark for a shell.

use modbox_python_json::{Dict, Value};

use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;

/// Runs a command.
///
/// # Errors
///
/// The module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let args = context.args.clone();
    context.run_module("ansible.legacy.command", args)
}

/// Runs a command in a shell.
///
/// # Errors
///
/// The module cannot be run, or the task gives an option that only `command` has.
pub fn run_shell(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    if context.args.contains_key("expand_argument_vars") {
        let action = &context.action;
        return Err(ActionError::failed(format!("Unsupported parameters for ({action}) module: expand_argument_vars")));
    }
    context.args.insert("_uses_shell".to_owned(), Value::Bool(true));
    run(context)
}
