//! The action of modules that have none of their own: runs the module with the arguments of the task.

use modbox_python_json::{Dict, Value};

use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;
use crate::model::task::is_builtin;

/// Runs the module.
///
/// # Errors
///
/// The module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let name = context.action.clone();
    let args = context.args.clone();
    let mut result = context.run_module(&name, args)?;
    if is_builtin(&name, "setup") {
        result.insert("_ansible_verbose_override".to_owned(), Value::Bool(true));
    }
    Ok(result)
}
