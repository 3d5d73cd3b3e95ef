//! `raw`: runs a command line in a shell, without a module.

use modbox_python_json::{Dict, Value};

use crate::actions::commands::low_level::{CommandLine, run_command};
use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;

/// Runs the command line.
///
/// # Errors
///
/// The task gives no command, or it cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    if !context.options.environment.is_empty() {
        context.warn("raw module does not support the environment keyword");
        context.options.environment.clear();
    }
    if context.options.modes.check {
        return Ok(entry("skipped", Value::Bool(true)));
    }
    let text = context.text("_raw_params").filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| ActionError::wrong("no command was given"))?;
    let shell = context.text("executable").filter(|shell| !shell.is_empty());
    run_command(context, CommandLine { text, shell, ..CommandLine::default() })
}
