//! `copy`: copies files and folders of the play, or a text of the task, to the machine.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};

use crate::actions::context::ActionContext;
use crate::actions::copies::copying::{CopiedFile, add_invocation, copy_file, failure, file_args};
use crate::actions::copies::local_tree::{LocalEntry, LocalTree, walk};
use crate::actions::error::ActionError;
use crate::paths;
use crate::report::message::Message;

/// Copies.
///
/// # Errors
///
/// The task gives internal arguments, a file cannot be found or read, or a module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    for internal in ["_original_basename", "_diff_peek"] {
        if context.text(internal).is_some() {
            return Err(ActionError::failed(format!("Invalid parameter specified: \"{internal}\"")));
        }
    }
    let args = context.args.clone();
    let mut result = match check(context) {
        Some(problem) => failure(problem),
        None => copy(context, &args)?,
    };
    add_invocation(context, &args, &mut result);
    Ok(result)
}

/// Returns what is wrong with the arguments.
fn check(context: &ActionContext<'_>) -> Option<&'static str> {
    let source = context.text("src").filter(|source| !source.is_empty());
    let content = context.args.get("content").filter(|content| **content != Value::Null);
    let dest = context.text("dest").filter(|dest| !dest.is_empty());
    match (source, content, dest) {
        (None, None, _) => Some("src (or content) is required"),
        (_, _, None) => Some("dest is required"),
        (Some(_), Some(_), _) => Some("src and content are mutually exclusive"),
        (_, Some(_), Some(dest)) if dest.ends_with('/') => Some("can not use content with a dir as dest"),
        _ => None,
    }
}

fn copy(context: &mut ActionContext<'_>, args: &Dict) -> Result<Dict, ActionError> {
    let dest = context.text("dest").unwrap_or_default();
    if let Some(content) = args.get("content").filter(|content| **content != Value::Null) {
        return copy_text(context, args, content, &dest);
    }
    if context.flag_of(args, "remote_src", false) {
        return context.run_module("ansible.legacy.copy", args.clone());
    }
    let name = context.text("src").unwrap_or_default();
    let found = context.find_file("files", &name);
    let mut source = found.map_err(|error| {
        let unexpected = |message: Message| message.causing("Unexpected AnsibleActionFail error.", None);
        error.map_failed(|message| ActionError::Failed(Box::new(unexpected(message))))
    })?;
    if context.host.files().is_folder(&source) {
        source = format!("{}{}", source.trim_end_matches('/'), if name.ends_with('/') { "/" } else { "" });
        return copy_folder(context, args, &source, &dest);
    }
    let file = LocalEntry { name: paths::name(&source).to_owned(), source: source.clone() };
    copy_tree(context, args, &LocalTree { files: vec![file], ..LocalTree::default() }, &source, &dest)
}

/// Copies a text of the task. A list or a dict is written as JSON.
fn copy_text(context: &mut ActionContext<'_>, args: &Dict, content: &Value, dest: &str) -> Result<Dict, ActionError> {
    let bytes = match content {
        Value::List(_) | Value::Dict(_) => modbox_python_json::encode(content).into_bytes(),
        Value::Surrogates(text) => {
            let invalid = || ActionError::failed("could not write content temp file: the content is not valid text");
            text.to_bytes().ok_or_else(invalid)?
        }
        other => modbox_python_json::str(other).into_bytes(),
    };
    // Ansible's temporary file with the content has this mode.
    let mode = (context.text("mode").as_deref() == Some("preserve")).then(|| "0600".to_owned());
    let name = paths::name(dest).to_owned();
    let file = CopiedFile { header: dest, name: &name, content: bytes.into(), mode, is_text: true };
    let follow = context.flag_of(args, "follow", false);
    let result = copy_file(context, args, &file, dest, follow)?;
    Ok(finish(result, dest, "", true))
}

fn copy_folder(context: &mut ActionContext<'_>, args: &Dict, source: &str, dest: &str) -> Result<Dict, ActionError> {
    let follow = context.flag_of(args, "local_follow", true);
    let tree = walk(context.host.files(), source, follow)?;
    let dest = if dest.ends_with('/') { dest.to_owned() } else { format!("{dest}/") };
    copy_tree(context, args, &tree, source, &dest)
}

/// Copies files, then folders, then links.
fn copy_tree(
    context: &mut ActionContext<'_>,
    args: &Dict,
    tree: &LocalTree,
    source: &str,
    dest: &str,
) -> Result<Dict, ActionError> {
    let mut summary = Summary::default();
    // Links at the destination are followed only where a single file is copied.
    let follow = tree.folders.is_empty() && context.flag_of(args, "follow", false);
    for entry in &tree.files {
        let files = context.host.files();
        let decrypts = context.flag_of(args, "decrypt", true);
        let content = if decrypts { files.bytes(&entry.source)? } else { files.raw_bytes(&entry.source)? };
        let content: Arc<[u8]> = content.into();
        let mode = preserved_mode(context, &entry.source)?;
        let file = CopiedFile { header: &entry.source, name: &entry.name, content, mode, is_text: false };
        let result = copy_file(context, args, &file, dest, follow)?;
        if summary.add(result) {
            return Ok(summary.last);
        }
    }
    for entry in &tree.folders {
        let result = context.run_module("ansible.legacy.file", folder_args(args, dest, &entry.name))?;
        if summary.add(Some(result)) {
            return Ok(summary.last);
        }
    }
    for entry in &tree.links {
        let mut own = link_args(args, dest, entry);
        if !tree.folders.is_empty() {
            own.insert("follow".to_owned(), Value::Bool(false));
        }
        let result = context.run_module("ansible.legacy.file", own)?;
        if summary.add(Some(result)) {
            return Ok(summary.last);
        }
    }
    let single = summary.ran && tree.files.len() == 1;
    let changed = Value::Bool(summary.changed);
    let mut result = finish(Some(summary.last).filter(|_| single), dest, source, single);
    if !single {
        result.insert("changed".to_owned(), changed);
    }
    Ok(result)
}

/// What was copied so far.
#[derive(Debug, Default)]
struct Summary {
    changed: bool,
    ran: bool,
    last: Dict,
}

impl Summary {
    /// Takes note of a result. Returns whether it is a failure, which ends the copying.
    fn add(&mut self, result: Option<Dict>) -> bool {
        let Some(result) = result else { return false };
        let holds = |result: &Dict, key: &str| result.get(key).is_some_and(Value::is_truthy);
        self.ran = true;
        self.changed |= holds(&result, "changed");
        let failed = holds(&result, "failed");
        self.last = result;
        failed
    }
}

/// Returns the result of a single file, or where the files went.
fn finish(result: Option<Dict>, dest: &str, source: &str, single: bool) -> Dict {
    let Some(mut result) = result else {
        let mut result = Dict::new();
        result.insert("dest".to_owned(), Value::from(dest));
        result.insert("src".to_owned(), Value::from(source));
        result.insert("changed".to_owned(), Value::Bool(false));
        return result;
    };
    if single && let Some(path) = result.get("path").cloned() {
        result.entry("dest".to_owned()).or_insert(path);
    }
    result
}

/// Returns the mode of a file whose mode is kept.
fn preserved_mode(context: &ActionContext<'_>, source: &str) -> Result<Option<String>, ActionError> {
    if context.text("mode").as_deref() != Some("preserve") {
        return Ok(None);
    }
    let mode = context.host.files().details(source)?.mode;
    Ok(Some(format!("0{:03o}", mode & 0o7777)))
}

fn folder_args(args: &Dict, dest: &str, name: &str) -> Dict {
    let mut own = file_args(args);
    own.shift_remove("src");
    own.insert("path".to_owned(), Value::from(paths::join(dest, name)));
    own.insert("state".to_owned(), Value::from("directory"));
    own.insert("mode".to_owned(), args.get("directory_mode").cloned().unwrap_or_default());
    own.insert("recurse".to_owned(), Value::Bool(false));
    own
}

fn link_args(args: &Dict, dest: &str, link: &LocalEntry) -> Dict {
    let mut own = file_args(args);
    own.insert("path".to_owned(), Value::from(paths::join(dest, &link.name)));
    own.insert("src".to_owned(), Value::from(link.source.as_str()));
    own.insert("state".to_owned(), Value::from("link"));
    own.insert("force".to_owned(), Value::Bool(true));
    if own.get("mode").and_then(Value::as_str) == Some("preserve") {
        own.shift_remove("mode");
    }
    own
}
