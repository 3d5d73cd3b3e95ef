//! Conditions of tasks: `when`, `changed_when`, `failed_when`, `until` and `break_when`.

use modbox_python_json::Value;
use modbox_template::{Engine, Scope, TemplateError};
use modbox_yaml::Source;

use crate::keywords::Keyword;
use crate::load::values;
use crate::model::task::Task;

/// Returns the conditions of `when`: those of everything around the task first. Null among them is none, as in ansible-core
/// 2.21; other keywords do not take it.
#[must_use]
pub fn when(task: &Task) -> Vec<Source> {
    let all = task.collected(Keyword::When).into_iter().rev().flat_map(conditions);
    all.filter(|condition| !condition.is_null()).collect()
}

/// Returns the conditions of a keyword: a list of them, or a single one.
#[must_use]
pub fn conditions(source: &Source) -> Vec<Source> {
    match source.as_list() {
        Some(items) => items.to_vec(),
        None => vec![source.clone()],
    }
}

/// Evaluates conditions until one is false, and returns that one.
///
/// # Errors
///
/// A condition fails, or has another value than true or false.
pub fn first_false<'a>(
    engine: &Engine,
    scope: &Scope,
    conditions: &'a [Source],
) -> Result<Option<&'a Source>, TemplateError> {
    for condition in conditions {
        if !engine.condition(condition, scope)?.value {
            return Ok(Some(condition));
        }
    }
    Ok(None)
}

/// Returns a condition as results show it: as it is written.
#[must_use]
pub fn shown(condition: &Source) -> Value {
    condition.to_data().unwrap_or_else(|_| Value::from(values::scalar_text(condition).unwrap_or_default()))
}
