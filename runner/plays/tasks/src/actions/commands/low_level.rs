//! Running a command line without a module of its own: what `raw` and `script` have in common.
//!
//! The module `command` runs it in a shell. Its result is reduced to what Ansible returns for such a command.

use modbox_python_json::{Dict, Value};

use crate::action_host::PrivateFile;
use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;

/// A command line.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// The text for the shell.
    pub text: String,
    /// The working directory.
    pub folder: Option<String>,
    /// The shell.
    pub shell: Option<String>,
    /// Files that the command line names.
    pub files: Vec<PrivateFile>,
}

/// Runs a command line. The result always says that something changed.
///
/// # Errors
///
/// The module cannot be run.
pub fn run_command(context: &mut ActionContext<'_>, command: CommandLine) -> Result<Dict, ActionError> {
    let mut args = Dict::new();
    args.insert("_raw_params".to_owned(), Value::from(command.text));
    args.insert("_uses_shell".to_owned(), Value::Bool(true));
    args.insert("strip_empty_ends".to_owned(), Value::Bool(false));
    for (name, value) in [("chdir", command.folder), ("executable", command.shell)] {
        if let Some(value) = value {
            args.insert(name.to_owned(), Value::from(value));
        }
    }
    let found = context.run_module_with("ansible.legacy.command", args, command.files)?;
    let ran = found.contains_key("rc") && found.contains_key("stdout");
    if !ran {
        return Ok(found);
    }
    let kept = ["rc", "stdout", "stdout_lines", "stderr", "stderr_lines"];
    let mut result: Dict = found.into_iter().filter(|(key, _)| kept.contains(&key.as_str())).collect();
    result.insert("changed".to_owned(), Value::Bool(true));
    context.findings.module_error = None;
    if result.get("rc").is_some_and(Value::is_truthy) {
        result.insert("failed".to_owned(), Value::Bool(true));
        result.insert("msg".to_owned(), Value::from("non-zero return code"));
    }
    Ok(result)
}
