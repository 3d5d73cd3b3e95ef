//! `fail`: fails with a message.

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;

/// Fails.
///
/// # Errors
///
/// The task gives unknown arguments.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_args(&["msg"])?;
    let message = context.args.get("msg").cloned();
    let mut result = entry("failed", true);
    result.insert("msg".to_owned(), message.unwrap_or_else(|| Value::from("Failed as requested from task")));
    Ok(result)
}
