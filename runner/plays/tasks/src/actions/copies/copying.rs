//! Copying files of the play to the machine: what `copy`, `template` and `assemble` have in common.
//!
//! A file goes to the module `copy` as a private file of the run. If the destination has the same content already, the
//! module `file` only sets its attributes.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};

use crate::action_host::PrivateFile;
use crate::actions::context::ActionContext;
use crate::actions::copies::file_difference::{NewContent, difference};
use crate::actions::copies::stat::{FileState, state};
use crate::actions::error::ActionError;
use crate::paths;

/// The arguments that the module `file` takes, too.
const FILE_ARGS: [&str; 16] = [
    "mode",
    "owner",
    "group",
    "seuser",
    "serole",
    "selevel",
    "setype",
    "attributes",
    "unsafe_writes",
    "state",
    "path",
    "_original_basename",
    "recurse",
    "force",
    "_diff_peek",
    "src",
];

/// A file that is copied.
#[derive(Debug)]
pub struct CopiedFile<'a> {
    /// The path or the text that a difference shows.
    pub header: &'a str,
    /// The path below the destination, if that is a folder.
    pub name: &'a str,
    /// The content.
    pub content: Arc<[u8]>,
    /// The mode, if it is not the one of the arguments.
    pub mode: Option<String>,
    /// Whether the content is text of the task, which cannot be put into a folder.
    pub is_text: bool,
}

/// Returns the arguments that the module `file` takes, too.
#[must_use]
pub fn file_args(args: &Dict) -> Dict {
    let shared = |name: &String| FILE_ARGS.contains(&name.as_str());
    args.iter().filter(|(name, _)| shared(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Copies a file. `args` are the task's arguments; `None` is the result if the destination exists and must stay.
///
/// # Errors
///
/// A module cannot be run.
pub fn copy_file(
    context: &mut ActionContext<'_>,
    args: &Dict,
    file: &CopiedFile<'_>,
    dest: &str,
    follow: bool,
) -> Result<Option<Dict>, ActionError> {
    let force = context.flag_of(args, "force", true);
    let mut dest_file = if dest.ends_with('/') { paths::join(dest, file.name) } else { dest.to_owned() };
    let mut found = state(context, &dest_file, follow, force)?;
    if found.exists && found.is_folder {
        if file.is_text {
            return Ok(Some(failure("can not use content with a dir as dest")));
        }
        dest_file = paths::join(&dest_file, file.name);
        found = state(context, &dest_file, follow, force)?;
    }
    if found.exists && !force {
        return Ok(None);
    }
    let checksum = modbox_checksum::sha1(&file.content);
    let mut result = Dict::new();
    let module = if checksum == found.checksum {
        set_attributes(context, args, file, dest, &dest_file, follow)?
    } else {
        let content = NewContent { header: file.header, bytes: &file.content };
        if context.options.modes.diff {
            let diff = difference(context, &dest_file, content)?;
            result.insert("diff".to_owned(), Value::List(vec![Value::Dict(diff)]));
        }
        result.entry("diff".to_owned()).or_insert_with(|| Value::List(Vec::new()));
        if context.options.modes.check {
            result.insert("changed".to_owned(), Value::Bool(true));
            return Ok(Some(result));
        }
        transfer(context, args, file, dest, &dest_file, follow)?
    };
    result.entry("diff".to_owned()).or_insert_with(|| Value::List(Vec::new()));
    for (key, value) in module {
        result.insert(key, value);
    }
    if !result.get("checksum").is_some_and(Value::is_truthy) {
        result.insert("checksum".to_owned(), Value::from(checksum));
    }
    Ok(Some(result))
}

/// Runs the module `copy` with the content as a private file.
fn transfer(
    context: &mut ActionContext<'_>,
    args: &Dict,
    file: &CopiedFile<'_>,
    dest: &str,
    dest_file: &str,
    follow: bool,
) -> Result<Dict, ActionError> {
    let mut own = args.clone();
    // Some say how folders and files of the machine are copied, which is not what the module does here.
    for name in ["content", "decrypt", "src", "remote_src", "local_follow", "directory_mode"] {
        own.shift_remove(name);
    }
    let folder = paths::parent(dest_file);
    if dest.ends_with('/') && !state(context, folder, true, true)?.exists {
        let made = make_folder(context, args, folder)?;
        if made.get("failed").is_some_and(Value::is_truthy) {
            return Ok(made);
        }
    }
    own.insert("dest".to_owned(), Value::from(dest));
    own.insert("_original_basename".to_owned(), Value::from(file.name));
    own.insert("follow".to_owned(), Value::Bool(follow));
    if !own.get("checksum").is_some_and(Value::is_truthy) {
        own.insert("checksum".to_owned(), Value::from(modbox_checksum::sha1(&file.content)));
    }
    if let Some(mode) = &file.mode {
        own.insert("mode".to_owned(), Value::from(mode.as_str()));
    }
    // The suffix stays, so that a command that validates the file can tell what it is.
    let name = format!(".source{}", paths::extension(dest_file));
    context.run_module_with("ansible.legacy.copy", own, vec![private("src", name, &file.content)])
}

/// Makes the folder of a file below a destination that is a folder by the slash at its end, and those above it.
fn make_folder(context: &mut ActionContext<'_>, args: &Dict, folder: &str) -> Result<Dict, ActionError> {
    let mut own = file_args(args);
    for name in ["src", "force"] {
        own.shift_remove(name);
    }
    own.insert("path".to_owned(), Value::from(folder));
    own.insert("state".to_owned(), Value::from("directory"));
    own.insert("mode".to_owned(), args.get("directory_mode").cloned().unwrap_or_default());
    context.run_module("ansible.legacy.file", own)
}

/// Runs the module `file`, which sets the attributes of a file that has the content already.
fn set_attributes(
    context: &mut ActionContext<'_>,
    args: &Dict,
    file: &CopiedFile<'_>,
    dest: &str,
    dest_file: &str,
    follow: bool,
) -> Result<Dict, ActionError> {
    let mut dest = dest.to_owned();
    if follow {
        let FileState { link_source, .. } = state(context, dest_file, false, true)?;
        if let Some(target) = link_source {
            context.note_result("dest", "stat");
            dest = target;
        }
    }
    let mut own = file_args(args);
    own.shift_remove("src");
    own.insert("dest".to_owned(), Value::from(dest));
    own.insert("_original_basename".to_owned(), Value::from(file.name));
    own.insert("recurse".to_owned(), Value::Bool(false));
    own.insert("state".to_owned(), Value::from("file"));
    if let Some(mode) = &file.mode {
        own.insert("mode".to_owned(), Value::from(mode.as_str()));
    }
    context.run_module("ansible.legacy.file", own)
}

/// Returns a private file that is an argument of its own.
#[must_use]
pub fn private(argument: &str, name: String, content: &Arc<[u8]>) -> PrivateFile {
    let content = Arc::clone(content);
    PrivateFile { argument: vec![argument.to_owned()], inserted_at: Vec::new(), name, content, mode: 0o600 }
}

/// Returns a failed result.
#[must_use]
pub fn failure(text: &str) -> Dict {
    let mut result = Dict::new();
    result.insert("failed".to_owned(), Value::Bool(true));
    result.insert("msg".to_owned(), Value::from(text));
    result
}

/// Adds `invocation` to a result that has none, and hides content in it. Without the task's wish to have it, there is none
/// (ansible-core 2.21, `copy._ensure_invocation`).
pub fn add_invocation(context: &ActionContext<'_>, args: &Dict, result: &mut Dict) {
    if !context.options.modes.repeats_arguments {
        result.shift_remove("invocation");
        return;
    }
    if !result.contains_key("invocation") {
        let invocation = if context.options.modes.no_log {
            Value::from("CENSORED: no_log is set")
        } else {
            let mut invocation = args.clone();
            invocation.insert("module_args".to_owned(), Value::Dict(args.clone()));
            Value::Dict(invocation)
        };
        result.insert("invocation".to_owned(), invocation);
    }
    let Some(Value::Dict(invocation)) = result.get_mut("invocation") else { return };
    if let Some(content) = invocation.get_mut("content") {
        *content = Value::from("CENSORED: content is a no_log parameter");
    }
    if let Some(Value::Dict(module)) = invocation.get_mut("module_args")
        && let Some(content) = module.get_mut("content").filter(|content| **content != Value::Null)
    {
        *content = Value::from("VALUE_SPECIFIED_IN_NO_LOG_PARAMETER");
    }
}
