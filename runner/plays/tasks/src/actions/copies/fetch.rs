//! `fetch`: copies a file of the machine into a folder by the host's name. Both are on this machine.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::copies::copying::{failure, private};
use crate::actions::copies::file_difference::decoded;
use crate::actions::copies::stat::state;
use crate::actions::error::ActionError;
use crate::paths;
use crate::vars::layer;

/// Fetches a file.
///
/// # Errors
///
/// An argument is wrong, or a module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    if context.options.modes.check {
        return Err(ActionError::Skipped("check mode not (yet) supported for this module".to_owned()));
    }
    let (source, dest) = paths_of(context)?;
    let required = context.flag_of(&context.args, "fail_on_missing", true);
    let found = state(context, &source, true, true)?;
    if found.is_folder {
        return Ok(is_folder(required));
    }
    let slurped = context.run_step("ansible.legacy.slurp", entry("src", source.as_str()))?;
    if slurped.get("failed").is_some_and(Value::is_truthy) {
        return Ok(not_read(slurped, &source, required));
    }
    let content = slurped.get("content").and_then(decoded);
    let content: Arc<[u8]> = content.ok_or_else(|| ActionError::failed("Failed to fetch the file."))?.into();
    let dest = destination(context, &source, &dest)?;
    store(context, &source, &dest, &content)
}

fn paths_of(context: &ActionContext<'_>) -> Result<(String, String), ActionError> {
    let text = |name: &str| match context.args.get(name) {
        None | Some(Value::Null) => Err("src and dest are required".to_owned()),
        Some(Value::Str(text)) => Ok(text.clone()),
        Some(_) => Err(format!("Invalid type supplied for {name} option, it must be a string")),
    };
    match (text("src"), text("dest")) {
        (Ok(source), Ok(dest)) => Ok((source, dest)),
        (_, Err(problem)) | (Err(problem), _) => Err(ActionError::failed(problem)),
    }
}

fn is_folder(required: bool) -> Dict {
    const TEXT: &str = "remote file is a directory, fetch cannot work on directories";
    if !required {
        return entry("msg", format!("{TEXT}, not transferring, ignored"));
    }
    let mut result = failure(TEXT);
    result.insert("changed".to_owned(), Value::Bool(false));
    result
}

/// Returns the result for a file that cannot be read.
fn not_read(slurped: Dict, source: &str, required: bool) -> Dict {
    let reason = slurped.get("msg").map(modbox_python_json::str).unwrap_or_default();
    let mut result = if required {
        slurped
    } else {
        let mut result = entry("file", source);
        result.insert("changed".to_owned(), Value::Bool(false));
        result
    };
    let text = if reason.contains("not found") {
        Some("the remote file does not exist, not transferring, ignored")
    } else if reason.to_lowercase().starts_with("source is a directory") {
        Some("remote file is a directory, fetch cannot work on directories")
    } else {
        None
    };
    if let Some(text) = text {
        result.insert("msg".to_owned(), Value::from(text));
    }
    result
}

/// Returns where the file goes: below the host's name, or right where the task says with `flat`.
fn destination(context: &mut ActionContext<'_>, source: &str, dest: &str) -> Result<String, ActionError> {
    let folder = context.options.play_folder.clone();
    if !context.flag_of(&context.args, "flat", false) {
        let host = context.scope.get("inventory_hostname").map(|slot| slot.content());
        let host = match host {
            Some(modbox_template::Content::Value(value)) => modbox_python_json::str(&layer::to_json(value)),
            _ => "localhost".to_owned(),
        };
        return Ok(paths::normalize(&format!("{}/{host}/{source}", paths::join(&folder, dest))));
    }
    let whole = paths::join(&folder, dest);
    let is_folder = state(context, &whole, true, false)?.is_folder;
    if is_folder && !dest.ends_with('/') {
        return Err(ActionError::failed(
            "dest is an existing directory, use a trailing slash if you want to fetch src into that directory",
        ));
    }
    if !dest.ends_with('/') {
        return Ok(paths::normalize(&whole));
    }
    let inside = paths::join(&whole, paths::name(source));
    if state(context, &inside, true, false)?.is_folder {
        return Err(ActionError::failed(format!(
            "calculated dest '{inside}' is an existing directory, use another path that does not point to an existing \
             directory"
        )));
    }
    Ok(paths::normalize(&inside))
}

/// Writes the content by the module `copy`, unless it is there already.
fn store(context: &mut ActionContext<'_>, source: &str, dest: &str, content: &Arc<[u8]>) -> Result<Dict, ActionError> {
    let checksum = modbox_checksum::sha1(content);
    let md5 = modbox_checksum::md5(content);
    let local = state(context, dest, true, true)?;
    let mut result = Dict::new();
    let mut put = |key: &str, value: Value| drop(result.insert(key.to_owned(), value));
    if local.checksum == checksum {
        put("changed", Value::Bool(false));
    } else {
        if let Some(failed) = write(context, dest, content)? {
            return Ok(failed);
        }
        let written = state(context, dest, true, true)?.checksum;
        if written != checksum && context.flag_of(&context.args, "validate_checksum", true) {
            put("failed", Value::Bool(true));
            put("msg", Value::from("checksum mismatch"));
        } else {
            put("changed", Value::Bool(true));
        }
        put("remote_md5sum", Value::Null);
        put("remote_checksum", Value::from(checksum.as_str()));
    }
    put("file", Value::from(source));
    put("md5sum", Value::from(md5));
    put("dest", Value::from(dest));
    put("checksum", Value::from(checksum));
    Ok(result)
}

/// Writes a file, and the folders that it needs. Returns the result of a module that failed.
fn write(context: &mut ActionContext<'_>, dest: &str, content: &Arc<[u8]>) -> Result<Option<Dict>, ActionError> {
    let failed = |result: &Dict| result.get("failed").is_some_and(Value::is_truthy);
    let folder = paths::parent(dest).to_owned();
    if !state(context, &folder, true, false)?.exists {
        let mut args = entry("path", folder);
        args.insert("state".to_owned(), Value::from("directory"));
        let made = context.run_step("ansible.legacy.file", args)?;
        if failed(&made) {
            return Ok(Some(made));
        }
    }
    let files = vec![private("src", "source".to_owned(), content)];
    let written = context.run_module_with("ansible.legacy.copy", entry("dest", dest), files)?;
    Ok(Some(written).filter(failed))
}
