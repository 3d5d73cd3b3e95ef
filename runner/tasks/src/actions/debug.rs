//! `debug`: shows a message, or the value of a variable.

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::load::values;
use crate::run::fields;
use crate::vars::layer;

/// Shows a message or a variable.
///
/// # Errors
///
/// The task gives unknown arguments, or both a message and a variable.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_options(&["msg", "var", "verbosity"], &[])?;
    let var = context.sources.get("var").map(|argument| argument.value.clone()).filter(|source| !source.is_null());
    if var.is_some() && context.args.contains_key("msg") {
        return Err(ActionError::failed("parameters are mutually exclusive: msg|var"));
    }
    let wanted = context.args.get("verbosity").cloned().unwrap_or(Value::Int(0));
    let Some(verbosity) = fields::whole(&wanted) else {
        let found = modbox_python_json::repr(&wanted);
        return Err(ActionError::failed(format!(
            "argument 'verbosity' is of type {} and we were unable to convert to int: {found} cannot be converted to an int",
            wanted.type_name()
        )));
    };
    if verbosity > i64::from(context.options.verbosity) {
        let mut result = entry("skipped_reason", "Verbosity threshold not met.");
        result.insert("skipped".to_owned(), Value::Bool(true));
        result.insert("failed".to_owned(), Value::Bool(false));
        return Ok(result);
    }
    let mut result = match var {
        Some(source) => variable(context, &source)?,
        None => {
            let message = context.args.get("msg").cloned().unwrap_or_else(|| Value::from("Hello world!"));
            entry("msg", message)
        }
    };
    result.insert("_ansible_verbose_always".to_owned(), Value::Bool(true));
    result.insert("failed".to_owned(), Value::Bool(false));
    Ok(result)
}

/// Evaluates the expression of `var`. What is undefined is shown, and is not a failure.
fn variable(context: &mut ActionContext<'_>, source: &modbox_yaml::Source) -> Result<Dict, ActionError> {
    let name = values::scalar_text(source).ok_or_else(|| {
        ActionError::failed(format!("argument 'var' is {} and we were unable to convert to str", source.kind()))
    })?;
    if source.as_text().is_none() {
        return Ok(entry(&name, Value::from(name.as_str())));
    }
    if modbox_template::is_template(source) {
        return expression_of(context, source);
    }
    match context.engine.expression(source, context.scope) {
        Ok(evaluated) => Ok(entry(&name, layer::to_json(&evaluated.value))),
        Err(error) if error.is_undefined() => {
            let shown = format!("<< error 1 - {} >>", error.message());
            context.warn(format!("Encountered 1 template error.\nerror 1 - {}", error.message()));
            Ok(entry(&name, shown))
        }
        Err(error) => Err(ActionError::failed(format!("Error while resolving `var` expression: {}", error.message()))),
    }
}

/// Evaluates the expression that a template of `var` stands for.
fn expression_of(context: &mut ActionContext<'_>, source: &modbox_yaml::Source) -> Result<Dict, ActionError> {
    let failed = |error: modbox_template::TemplateError| {
        ActionError::failed(format!("Error while resolving value for 'var': {}", error.message()))
    };
    let written = context.engine.written(source, context.scope).map_err(failed)?.value;
    if let Some(expression) = written.filter(|written| written.as_text().is_some()) {
        return variable(context, &expression);
    }
    let value = layer::to_json(&context.engine.evaluate(source, context.scope).map_err(failed)?.value);
    Err(ActionError::failed(match value {
        Value::Str(_) => "Encountered untrusted template or expression.".to_owned(),
        value => format!(
            "argument 'var' is of type {} and we were unable to convert to _check_type_str_no_conversion: '{}' is not a \
             string and conversion is not allowed",
            value.type_name(),
            modbox_python_json::str(&value)
        ),
    }))
}
