//! `script`: runs a script of the play from a private copy.

use modbox_python_json::{Dict, Value};

use crate::action_host::PrivateFile;
use crate::actions::commands::low_level::{CommandLine, run_command};
use crate::actions::context::{ActionContext, entry};
use crate::actions::copies::stat::exists;
use crate::actions::error::ActionError;
use crate::paths;
use crate::words::first_word;

const OPTIONS: [&str; 7] = ["_raw_params", "chdir", "cmd", "creates", "decrypt", "executable", "removes"];

/// Runs the script.
///
/// # Errors
///
/// An argument is wrong, the script cannot be found, or it cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let line = check(context)?;
    let (creates, removes) = (given(context, "creates"), given(context, "removes"));
    if let Some(path) = &creates
        && exists(context, path)?
    {
        return Err(ActionError::Skipped(format!("{path} exists, matching creates option")));
    }
    if let Some(path) = &removes
        && !exists(context, path)?
    {
        return Err(ActionError::Skipped(format!("{path} does not exist, matching removes option")));
    }
    let folder = given(context, "chdir");
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.starts_with('/')) {
        return Err(ActionError::failed(format!(
            "chdir {folder} must be an absolute path for a Unix-aware remote node"
        )));
    }
    let invalid = || ActionError::failed("failed to split the command line: a quote does not end");
    let name = first_word(&line).ok_or_else(invalid)?;
    let source = context.find_file("files", &name)?;
    let content = context.host.files().bytes(&source)?;
    if context.options.modes.check {
        if creates.is_some() || removes.is_some() {
            return Ok(entry("changed", Value::Bool(true)));
        }
        return Err(ActionError::Skipped("Check mode is not supported for this task.".to_owned()));
    }
    let prefix = given(context, "executable").map(|program| format!("{program} ")).unwrap_or_default();
    let (rest, inserted_at) = without(&line, &name, prefix.len());
    let file = PrivateFile {
        argument: vec!["_raw_params".to_owned()],
        inserted_at,
        name: paths::name(&source).to_owned(),
        content: content.into(),
        mode: 0o700,
    };
    run_command(context, CommandLine { text: format!("{prefix}{rest}"), folder, shell: None, files: vec![file] })
}

/// Checks the arguments, and returns the command line.
fn check(context: &ActionContext<'_>) -> Result<String, ActionError> {
    context.check_options(&OPTIONS, &[])?;
    let line = match (context.text("_raw_params"), context.text("cmd")) {
        (Some(_), Some(_)) => {
            return Err(ActionError::failed("parameters are mutually exclusive: _raw_params|cmd"));
        }
        (Some(line), None) | (None, Some(line)) => line,
        (None, None) => {
            return Err(ActionError::failed("one of the following is required: _raw_params, cmd"));
        }
    };
    Ok(line.trim().to_owned())
}

fn given(context: &ActionContext<'_>, name: &str) -> Option<String> {
    context.text(name).filter(|text| !text.is_empty())
}

/// Removes a word from a line, wherever it occurs, as Ansible does, and returns where the word was.
fn without(line: &str, word: &str, offset: usize) -> (String, Vec<usize>) {
    let (mut rest, mut places) = (String::new(), Vec::new());
    if word.is_empty() {
        return (line.to_owned(), vec![offset]);
    }
    for (index, part) in line.split(word).enumerate() {
        if index > 0 {
            places.push(offset + rest.len());
        }
        rest.push_str(part);
    }
    (rest, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_s_name_is_taken_out_of_the_line() {
        let check = |line: &str, word: &str, rest: &str, places: &[usize]| {
            assert_eq!(without(line, word, 0), (rest.to_owned(), places.to_vec()), "{line}");
        };
        check("a.sh x 'y z'", "a.sh", " x 'y z'", &[0]);
        check("'a b.sh' x", "a b.sh", "'' x", &[1]);
        check("a.sh a.sh", "a.sh", " ", &[0, 1]);
    }
}
