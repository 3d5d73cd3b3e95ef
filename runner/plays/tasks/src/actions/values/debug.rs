//! `debug`: shows a message, or the value of a variable.

use modbox_python_json::{Dict, Value};
use modbox_template::TemplateError;
use modbox_yaml::{Node, Source};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::load::values;
use crate::report::message::Message;
use crate::scalars;
use crate::vars::layer;

const UNRESOLVED: &str = "Error while resolving `var` expression.";

/// Shows a message or a variable.
///
/// # Errors
///
/// The task gives unknown arguments, or both a message and a variable.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_options(&["msg", "var", "verbosity"], &[])?;
    let var = variable(context)?;
    if var.is_some() && context.args.contains_key("msg") {
        return Err(ActionError::failed("parameters are mutually exclusive: msg|var"));
    }
    let wanted = context.args.get("verbosity").cloned().unwrap_or(Value::Int(0));
    let Some(verbosity) = scalars::whole(&wanted) else {
        let found = modbox_python_json::repr(&Value::from(modbox_python_json::repr(&wanted)));
        return Err(ActionError::failed(format!(
            "argument 'verbosity' is of type {} and we were unable to convert to int: {found} cannot be converted to an int",
            wanted.type_name()
        )));
    };
    if verbosity > i64::from(context.options.modes.verbosity) {
        let mut result = entry("skipped_reason", "Verbosity threshold not met.");
        result.insert("skipped".to_owned(), Value::Bool(true));
        result.insert("failed".to_owned(), Value::Bool(false));
        return Ok(result);
    }
    let mut result = match var {
        Some(source) => shown(context, &source)?,
        None => {
            match context.args.get("msg") {
                // ansible-core 2.21 has no null as a message of a result.
                Some(Value::Null) => Dict::new(),
                Some(message) => entry("msg", message.clone()),
                None => entry("msg", "Hello world!"),
            }
        }
    };
    result.insert("_ansible_verbose_always".to_owned(), Value::Bool(true));
    result.insert("failed".to_owned(), Value::Bool(false));
    Ok(result)
}

/// Returns the expression of `var`. A template stands for the expression in the variable that it names.
fn variable(context: &ActionContext<'_>) -> Result<Option<Source>, ActionError> {
    let Some(source) = context.sources.get("var").map(|argument| argument.value.clone()) else { return Ok(None) };
    if let Node::Unsafe(_) = source.node() {
        return Err(untrusted(context, &source));
    }
    if !modbox_template::is_template(&source) {
        return match source.to_data() {
            Ok(Value::Null) => Ok(None),
            Ok(value @ (Value::List(_) | Value::Dict(_))) => Err(not_text(&value)),
            _ => Ok(Some(source)),
        };
    }
    if let Some(expression) = context.engine.named_text(&source, context.scope)? {
        return Ok(Some(expression));
    }
    match context.engine.evaluate_omittable(&source, context.scope)?.value.map(|value| layer::to_json(&value)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(_)) => Err(untrusted(context, &source)),
        Some(value) => Err(not_text(&value)),
    }
}

fn not_text(value: &Value) -> ActionError {
    let (found, shown) = (value.type_name(), modbox_python_json::repr(value));
    ActionError::failed(format!(
        "argument 'var' is of type {found} and we were unable to convert to _check_type_str_no_conversion: '{shown}' is \
         not a string and conversion is not allowed"
    ))
}

fn untrusted(context: &ActionContext<'_>, source: &Source) -> ActionError {
    let place = context.excerpt(source.position());
    let message = Message::new("Encountered untrusted template or expression.").at(place.clone()).with_help(
        "Templates and expressions must be defined by trusted sources such as playbooks or roles, not untrusted sources \
         such as module results.",
    );
    ActionError::Wrong(Box::new(message.causing(UNRESOLVED, place)))
}

/// Returns the value of the expression of `var`. An undefined value is shown and does not fail the task.
fn shown(context: &mut ActionContext<'_>, source: &Source) -> Result<Dict, ActionError> {
    let name = values::scalar_text(source).unwrap_or_default();
    if source.as_text().is_none() {
        return Ok(entry(&name, Value::from(name.as_str())));
    }
    match context.engine.expression(source, context.scope) {
        Ok(evaluated) => Ok(entry(&name, layer::to_json(&evaluated.value))),
        Err(error) if error.is_undefined() => {
            let shown = format!("<< error 1 - {} >>", error.message());
            let text = format!("Encountered 1 template error.\nerror 1 - {}", error.message());
            context.findings.warnings.push(Message::new(text).at(context.excerpt(source.position())));
            Ok(entry(&name, shown))
        }
        Err(TemplateError::Omitted { .. }) => {
            let text = "The result of the `var` expression could not be omitted; a placeholder was used instead.";
            let place = context.excerpt(source.position());
            context.findings.warnings.push(Message::new(text).at(place));
            Ok(entry(&name, "<<Omit>>"))
        }
        Err(error) => {
            let place = context.excerpt(source.position());
            let cause = Message::new(error.message()).at(context.excerpt(error.position()));
            Err(ActionError::Wrong(Box::new(cause.causing(UNRESOLVED, place))))
        }
    }
}
