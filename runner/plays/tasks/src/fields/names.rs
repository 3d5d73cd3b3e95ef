//! Names of plays and tasks, as events show them.

use modbox_template::{Engine, Scope};
use modbox_yaml::Source;

use crate::keywords::Keyword;
use crate::load::values;
use crate::model::task::{ImplicitTask, Task, TaskKind};
use crate::vars::layer;

/// Returns the name of a task without that of its role; empty if it has none.
#[must_use]
pub fn short(engine: &Engine, scope: &Scope, task: &Task) -> String {
    if let TaskKind::Implicit(ImplicitTask::GatherFacts) = task.kind {
        return "Gathering Facts".to_owned();
    }
    if let TaskKind::Implicit(ImplicitTask::ValidateArguments) = task.kind {
        return validation(task);
    }
    task.keywords.get(Keyword::Name).map(|name| text(engine, scope, name)).unwrap_or_default()
}

/// Returns the name of a task as banners show it: with that of its role, or its action instead. The name of an
/// `include_role` stands alone.
#[must_use]
pub fn full(task: &Task, short: &str) -> String {
    let own = if short.is_empty() { task.action_text() } else { short };
    match task.frame.role() {
        _ if is_role_include(task) && short.is_empty() => included_role(task),
        Some(role) if !is_role_include(task) => format!("{} : {own}", role.full_name()),
        _ => own.to_owned(),
    }
}

/// Returns the name of the task that checks a role's arguments.
fn validation(task: &Task) -> String {
    let Some(role) = task.frame.role() else { return String::new() };
    let spec = role.argument_spec.as_ref().and_then(Source::as_map);
    let summary = spec.and_then(|spec| spec.get("short_description")).and_then(values::scalar_text);
    let name = format!("Validating arguments against arg spec '{}'", role.entry_point);
    summary.map_or_else(|| name.clone(), |summary| format!("{name} - {summary}"))
}

fn is_role_include(task: &Task) -> bool {
    crate::model::task::is_builtin(task.action_text(), "include_role")
}

/// Returns the name of an `include_role` without a name: the action and the role as it is written.
fn included_role(task: &Task) -> String {
    let argument = |name: &str| task.args.named.get(name).and_then(|argument| values::scalar_text(&argument.value));
    let role = argument("name").or_else(|| argument("role")).unwrap_or_default();
    format!("{} : {role}", task.action_text())
}

/// Evaluates a name as far as its variables are known. What cannot be evaluated shows its error.
#[must_use]
pub fn text(engine: &Engine, scope: &Scope, source: &Source) -> String {
    if let Ok(evaluated) = engine.evaluate(source, scope) {
        return modbox_python_json::str(&layer::to_json(&evaluated.value));
    }
    let Some(whole) = source.as_text() else { return values::scalar_text(source).unwrap_or_default() };
    let mut shown = String::new();
    let mut errors = 0;
    let mut rest = 0;
    while let Some((start, end)) = next_template(whole, rest) {
        shown.push_str(&whole[rest..start]);
        let part = source.text_of(start..end).map(|part| engine.evaluate(&part, scope));
        match part {
            Some(Ok(evaluated)) => shown.push_str(&modbox_python_json::str(&layer::to_json(&evaluated.value))),
            Some(Err(error)) => {
                errors += 1;
                shown.push_str(&format!("<< error {errors} - {} >>", error.message()));
            }
            None => shown.push_str(&whole[start..end]),
        }
        rest = end;
    }
    shown.push_str(&whole[rest..]);
    shown
}

/// Returns the range of the next `{{ … }}` of a text.
fn next_template(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text[from..].find("{{")?;
    let end = start + text[start..].find("}}")? + 2;
    Some((start, end))
}
