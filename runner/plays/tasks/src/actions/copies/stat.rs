//! What actions ask about files of the machine: they run the module `stat`.

use modbox_python_json::{Dict, Value};

use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;

/// What `stat` says about a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileState {
    /// Whether anything lies there.
    pub exists: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// What a link leads to, if it is one.
    pub link_source: Option<String>,
    /// The SHA-1 of the content. Empty if it is unknown.
    pub checksum: String,
}

/// Asks about a path.
///
/// # Errors
///
/// The module cannot be run, or fails.
pub fn state(
    context: &mut ActionContext<'_>,
    path: &str,
    follow: bool,
    checksum: bool,
) -> Result<FileState, ActionError> {
    let args: Dict = [
        ("path", Value::from(path)),
        ("follow", Value::Bool(follow)),
        ("get_checksum", Value::Bool(checksum)),
        ("checksum_algorithm", Value::from("sha1")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect();
    let result = context.run_step("ansible.legacy.stat", args)?;
    let stat = result.get("stat").and_then(Value::as_dict);
    let failed = result.get("failed").is_some_and(Value::is_truthy);
    let Some(stat) = stat.filter(|_| !failed) else {
        let text = |key: &str| result.get(key).filter(|text| text.is_truthy()).map(modbox_python_json::str);
        let reason = text("module_stderr").or_else(|| text("module_stdout")).or_else(|| text("msg"));
        let reason = reason.unwrap_or_else(|| "the module `stat` returned nothing about it".to_owned());
        return Err(ActionError::failed(format!("Failed to get information on remote file ({path}): {reason}")));
    };
    let holds = |key: &str| stat.get(key).is_some_and(Value::is_truthy);
    let text = |key: &str| stat.get(key).and_then(|value| value.as_str().map(str::to_owned));
    Ok(FileState {
        exists: holds("exists"),
        is_folder: holds("isdir"),
        link_source: text("lnk_source").filter(|_| holds("islnk")),
        checksum: text("checksum").unwrap_or_default(),
    })
}

/// Says whether anything lies at a path.
///
/// # Errors
///
/// The module cannot be run, or fails.
pub fn exists(context: &mut ActionContext<'_>, path: &str) -> Result<bool, ActionError> {
    Ok(state(context, path, true, false)?.exists)
}
