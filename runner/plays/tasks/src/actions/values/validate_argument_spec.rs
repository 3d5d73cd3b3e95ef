//! `validate_argument_spec`: checks variables and arguments by a spec, as before the tasks of a role.

use modbox_argument_spec::{ArgumentSpec, NoEnvironment};
use modbox_python_json::{Dict, Value};
use modbox_template::Content;

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::vars::layer;

/// Checks arguments.
///
/// # Errors
///
/// The spec or the arguments are not dicts, the spec is malformed, or a variable cannot be evaluated.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let args = std::mem::take(&mut context.args);
    let empty = Value::Dict(Dict::new());
    let Some(spec) = args.get("argument_spec") else {
        let given = modbox_python_json::repr(&Value::Dict(args));
        return Err(ActionError::wrong(format!("\"argument_spec\" arg is required in args: {given}")));
    };
    let wrong = |name: &str, found: &Value| {
        ActionError::wrong(format!("Incorrect type for {name}, expected dict and got <class '{}'>", found.type_name()))
    };
    let options = spec.as_dict().ok_or_else(|| wrong("argument_spec", spec))?;
    let provided = args.get("provided_arguments").unwrap_or(&empty);
    let provided = provided.as_dict().ok_or_else(|| wrong("provided_arguments", provided))?;
    let parsed = ArgumentSpec::parse_as_ansible(spec, &Dict::new());
    let parsed = parsed.map_err(|error| ActionError::wrong(error.to_string()))?;
    let mut values = variables(context, options)?;
    values.extend(provided.clone());
    let validated = parsed.validate(&values, &NoEnvironment);
    let errors: Vec<String> = validated.errors.into_iter().map(|error| error.message).collect();
    let mut result = entry("validate_args_context", args.get("validate_args_context").unwrap_or(&empty).clone());
    if errors.is_empty() {
        result.insert("changed".to_owned(), Value::Bool(false));
        result.insert("msg".to_owned(), Value::from("The arg spec validation passed"));
        return Ok(result);
    }
    result.insert("failed".to_owned(), Value::Bool(true));
    let text = format!("Validation of arguments failed:\n{}", errors.join("\n"));
    result.insert("msg".to_owned(), Value::from(text));
    result.insert("argument_spec_data".to_owned(), spec.clone());
    result.insert("argument_errors".to_owned(), Value::from(errors));
    Ok(result)
}

/// Returns the variables that have the names of options, evaluated.
fn variables(context: &ActionContext<'_>, options: &Dict) -> Result<Dict, ActionError> {
    let mut values = Dict::new();
    for name in options.keys() {
        let value = match context.scope.get(name).map(|slot| slot.content()) {
            Some(Content::Value(value)) => layer::to_json(value),
            Some(Content::Source(source)) => match context.engine.evaluate_omittable(source, context.scope)?.value {
                Some(value) => layer::to_json(&value),
                None => continue,
            },
            Some(Content::Scope(_) | Content::Hosts(_) | Content::Everything) | None => continue,
        };
        values.insert(name.clone(), value);
    }
    Ok(values)
}
