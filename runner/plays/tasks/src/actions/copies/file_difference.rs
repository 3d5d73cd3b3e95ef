//! The difference between a file of the machine and the content that it gets: `diff` of a result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::paths;

/// The size from which Ansible shows no difference.
const MAX_SIZE: usize = 104_448;

/// The content that a file gets.
#[derive(Debug, Clone, Copy)]
pub struct NewContent<'a> {
    /// The file that it comes from, or that it becomes if it is text of the task.
    pub header: &'a str,
    /// The content.
    pub bytes: &'a [u8],
}

/// Returns the difference between what lies at a path, and a content.
///
/// # Errors
///
/// A module cannot be run.
pub fn difference(context: &mut ActionContext<'_>, path: &str, content: NewContent<'_>) -> Result<Dict, ActionError> {
    let mut args = entry("path", path);
    args.insert("_diff_peek".to_owned(), Value::Bool(true));
    let peeked = context.run_step("ansible.legacy.file", args)?;
    if peeked.get("failed").is_some_and(Value::is_truthy) {
        let reason = peeked.get("msg").map(modbox_python_json::str).unwrap_or_default();
        let name = paths::name(content.header);
        context.warn(format!("Failed to get diff between '{name}' and '{path}': {reason}"));
        return Ok(Dict::new());
    }
    let mut diff = before(context, path, &peeked)?;
    after(&mut diff, content);
    if context.options.modes.no_log {
        hide(&mut diff);
    }
    Ok(diff)
}

/// Returns what lies at the path.
fn before(context: &mut ActionContext<'_>, path: &str, peeked: &Dict) -> Result<Dict, ActionError> {
    let absent = match peeked.get("state") {
        None | Some(Value::Null) => true,
        Some(state) => state.as_str() == Some("absent"),
    };
    if absent {
        return Ok(entry("before", ""));
    }
    if peeked.get("appears_binary").is_some_and(Value::is_truthy) {
        return Ok(entry("dst_binary", 1));
    }
    let limit = i64::try_from(MAX_SIZE).unwrap_or(i64::MAX);
    if peeked.get("size").and_then(Value::as_int).is_some_and(|size| size > limit) {
        return Ok(entry("dst_larger", limit));
    }
    let mut diff = Dict::new();
    let slurped = context.run_step("ansible.legacy.slurp", entry("path", path))?;
    if let Some(content) = slurped.get("content") {
        let bytes =
            decoded(content).ok_or_else(|| ActionError::failed(format!("Failed to read the content of {path}")))?;
        diff.insert("before_header".to_owned(), Value::from(path));
        diff.insert("before".to_owned(), Value::from_os_bytes(&bytes));
    }
    Ok(diff)
}

fn after(diff: &mut Dict, content: NewContent<'_>) {
    if content.bytes.len() > MAX_SIZE {
        diff.insert("src_larger".to_owned(), Value::Int(i64::try_from(MAX_SIZE).unwrap_or(i64::MAX)));
    } else if content.bytes.contains(&0) {
        diff.insert("src_binary".to_owned(), Value::Int(1));
    } else {
        diff.insert("after_header".to_owned(), Value::from(content.header));
        diff.insert("after".to_owned(), Value::from_os_bytes(content.bytes));
    }
}

fn hide(diff: &mut Dict) {
    const HIDDEN: &str = " [[ Diff output has been hidden because 'no_log: true' was specified for this result ]]\n";
    for (key, text) in [("before", ""), ("after", HIDDEN)] {
        if let Some(value) = diff.get_mut(key) {
            *value = Value::from(text);
        }
    }
}

/// Decodes the content that the module `slurp` returns.
#[must_use]
pub fn decoded(content: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(content.as_str()?).ok()
}
