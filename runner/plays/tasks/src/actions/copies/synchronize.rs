//! `ansible.posix.synchronize`: synchronizes files by rsync, on this machine.

use modbox_python_json::{Dict, Value};

use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;
use crate::paths;

/// Runs the module with absolute paths: those of files of the play are named as for `copy`.
///
/// # Errors
///
/// A path is missing or may not be looked at, or the module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let (name, mut args) = (context.action.clone(), context.args.clone());
    let (Some(source), Some(dest)) = (context.text("src"), context.text("dest")) else {
        return Err(ActionError::failed("synchronize requires both src and dest parameters are set"));
    };
    // What says how to reach another machine means nothing here.
    args.shift_remove("use_ssh_args");
    for (key, path) in [("src", source), ("dest", dest)] {
        args.insert(key.to_owned(), Value::from(absolute(context, &path)));
    }
    context.run_module(&name, args)
}

/// Returns where a path leads. One with a colon names another machine, or is an address. A slash at the end stays, since it makes a
/// difference to rsync.
fn absolute(context: &ActionContext<'_>, path: &str) -> String {
    if path.contains(':') || path.starts_with('/') {
        return path.to_owned();
    }
    let found = context.find_file("files", path);
    let found = found.unwrap_or_else(|_| paths::join(&context.options.play_folder, path));
    if path.ends_with('/') && !found.ends_with('/') { format!("{found}/") } else { found }
}
