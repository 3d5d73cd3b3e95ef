//! Choosing the module behind `package`, `service` and `dnf` by facts of the host.

use modbox_python_json::{Dict, Value};
use modbox_yaml::Source;

use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;
use crate::vars::layer;

/// Returns a fact that is known already.
#[must_use]
pub fn known_fact(context: &ActionContext<'_>, expression: &'static str) -> Option<String> {
    let found = context.engine.expression(&Source::literal(expression), context.scope).ok()?;
    let fact = layer::to_json(&found.value);
    Some(fact).filter(Value::is_truthy).map(|fact| modbox_python_json::str(&fact))
}

/// Runs the module `setup` for one fact. `None` if it does not say.
///
/// # Errors
///
/// The module cannot be run, or fails.
pub fn gathered_fact(
    context: &mut ActionContext<'_>,
    name: &str,
    purpose: &str,
) -> Result<Option<String>, ActionError> {
    let mut args = Dict::new();
    args.insert("filter".to_owned(), Value::from(name));
    args.insert("gather_subset".to_owned(), Value::from("!all"));
    let result = context.run_step("ansible.legacy.setup", args)?;
    if result.get("failed").is_some_and(Value::is_truthy) {
        let reason = result.get("msg").map(modbox_python_json::str).unwrap_or_default();
        return Err(ActionError::failed(format!("Failed to fetch {name} to determine the {purpose}: {reason}")));
    }
    let facts = result.get("ansible_facts").and_then(Value::as_dict);
    let fact = facts.and_then(|facts| facts.get(name)).filter(|fact| fact.is_truthy());
    Ok(fact.map(modbox_python_json::str))
}

/// Says whether a module can be run.
#[must_use]
pub fn is_module(context: &ActionContext<'_>, name: &str) -> bool {
    context.host.is_known(name, &context.options.collections)
}

/// Returns arguments for a module: those of the task over the module's own defaults.
///
/// # Errors
///
/// A default cannot be evaluated.
pub fn module_args(context: &ActionContext<'_>, module: &str, args: Dict) -> Result<Dict, ActionError> {
    let name = context.host.resolve(module, &context.options.collections);
    context.with_defaults(name.as_deref().unwrap_or(module), args)
}
