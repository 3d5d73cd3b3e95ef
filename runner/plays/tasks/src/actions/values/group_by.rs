//! `group_by`: adds the host to a group that a value names.

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;

/// Adds the host to a group.
///
/// # Errors
///
/// The task gives unknown arguments.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_args(&["key", "parents", "_raw_params"])?;
    let Some(key) = context.text("key") else {
        let mut result = entry("failed", true);
        result.extend(entry("msg", "the 'key' param is required when using group_by"));
        return Ok(result);
    };
    let parents = match context.args.get("parents") {
        None => vec!["all".to_owned()],
        Some(Value::List(items)) => items.iter().map(modbox_python_json::str).collect(),
        Some(other) => vec![modbox_python_json::str(other)],
    };
    let dashed = |name: &String| name.replace(' ', "-");
    let mut result = entry("changed", false);
    result.extend(entry("add_group", dashed(&key)));
    result.extend(entry("parent_groups", parents.iter().map(dashed).collect::<Vec<_>>()));
    Ok(result)
}
