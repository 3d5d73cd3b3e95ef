//! The folder of jobs, as variables name it.

use modbox_template::{Engine, Scope};
use modbox_yaml::Source;

use crate::vars::layer;

/// The variable that names the folder.
const VARIABLE: &str = "ansible_async_dir";

/// Returns the folder of jobs that the variables name, if they do.
#[must_use]
pub fn named(engine: &Engine, scope: &Scope) -> Option<String> {
    scope.get(VARIABLE)?;
    let found = engine.expression(&Source::literal(VARIABLE), scope).ok()?;
    Some(modbox_python_json::str(&layer::to_json(&found.value)))
}
