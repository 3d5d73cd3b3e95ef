//! `unarchive`: unpacks an archive of the play, or one of the machine.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};

use crate::actions::context::ActionContext;
use crate::actions::copies::copying::private;
use crate::actions::copies::stat::{exists, state};
use crate::actions::error::ActionError;

/// Unpacks an archive.
///
/// # Errors
///
/// An argument is wrong, the archive cannot be found or read, or a module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let mut args = context.args.clone();
    let mut remote = context.flag_of(&args, "remote_src", false);
    if let Some(copy) = args.shift_remove("copy") {
        if args.contains_key("remote_src") {
            return Err(ActionError::failed("parameters are mutually exclusive: ('copy', 'remote_src')"));
        }
        remote = !crate::scalars::truth(&copy).unwrap_or(false);
        args.insert("remote_src".to_owned(), Value::Bool(remote));
    }
    let text = |name: &str| args.get(name).filter(|value| **value != Value::Null).map(modbox_python_json::str);
    let (Some(source), Some(dest)) = (text("src"), text("dest")) else {
        return Err(ActionError::failed("src (or content) and dest are required"));
    };
    if let Some(path) = text("creates").filter(|path| !path.is_empty())
        && exists(context, &path)?
    {
        return Err(ActionError::Skipped(format!("skipped, since {path} exists")));
    }
    if !remote && source.contains("://") {
        return Err(ActionError::failed(format!(
            "Unsupported option, an URI src ({source}) is only supported when remote_src is True"
        )));
    }
    let path = if remote { None } else { Some(find(context, &source)?) };
    let found = state(context, &dest, true, true)?;
    if !found.exists || !found.is_folder {
        return Err(ActionError::failed(format!("dest '{dest}' must be an existing dir")));
    }
    args.shift_remove("decrypt");
    let mut files = Vec::new();
    if let Some(path) = path {
        let content: Arc<[u8]> = context.host.files().bytes(&path)?.into();
        args.shift_remove("src");
        files.push(private("src", "source".to_owned(), &content));
    }
    context.run_module_with("ansible.legacy.unarchive", args, files)
}

/// Finds the archive. One that is missing is a failure of the task (ansible-core 2.21, `ActionModule.run` of `unarchive`).
fn find(context: &ActionContext<'_>, source: &str) -> Result<String, ActionError> {
    let found = context.find_file("files", source);
    found.map_err(|error| error.map_failed(|message| ActionError::Wrong(Box::new(message))))
}
