//! `assert`: checks that conditions hold.

use modbox_python_json::{Dict, Value};
use modbox_template::Content;
use modbox_yaml::Source;

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::fields::conditions;
use crate::report::message::Message;
use crate::scalars;
use crate::vars::layer;

/// Checks conditions.
///
/// # Errors
///
/// The task gives unknown arguments or no conditions, or a condition cannot be evaluated.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    context.check_options(&["fail_msg", "quiet", "success_msg", "that"], &["msg"])?;
    let that = context.sources.get("that").map(|argument| argument.value.clone());
    let that = that.ok_or_else(|| ActionError::failed("missing required arguments: that"))?;
    let fail = message(context, &["fail_msg", "msg"], "Assertion failed")?;
    let success = message(context, &["success_msg"], "All assertions passed")?;
    let quiet = context.flag("quiet", false)?;
    let mut result = Dict::new();
    if !quiet {
        result.insert("_ansible_verbose_always".to_owned(), Value::Bool(true));
    }
    let conditions = expressions(context, &that)?;
    deprecate(context, &conditions);
    for condition in conditions {
        if !context.engine.condition(&condition, context.scope)?.value {
            result.extend(entry("failed", true));
            result.extend(entry("evaluated_to", false));
            result.extend(entry("assertion", conditions::shown(&condition)));
            result.extend(entry("msg", fail));
            return Ok(result);
        }
    }
    result.extend(entry("changed", false));
    result.extend(entry("msg", success));
    Ok(result)
}

/// Returns the conditions: those of a list, or of a variable that is a list of the play.
fn expressions(context: &ActionContext<'_>, that: &Source) -> Result<Vec<Source>, ActionError> {
    if modbox_template::is_template(that) && that.as_text().is_some() {
        let written = context.engine.written(that, context.scope)?.value;
        if let Some(list) = written.filter(|written| written.as_list().is_some()) {
            return Ok(conditions::conditions(&list));
        }
    }
    Ok(conditions::conditions(that))
}

/// Records that conditions are templates, unless a variable turns such warnings off.
fn deprecate(context: &mut ActionContext<'_>, conditions: &[Source]) {
    let is_template = |condition: &Source| {
        let text = condition.as_text().map(|text| text.trim());
        text.is_some_and(|text| text.starts_with("{{") && text.ends_with("}}"))
    };
    if !conditions.iter().any(is_template) || !shows_deprecations(context) {
        return;
    }
    let text = "Conditionals should not be surrounded by templating delimiters such as {{ }} or {% %}.";
    context.findings.deprecations.push(Message::new(text));
}

fn shows_deprecations(context: &ActionContext<'_>) -> bool {
    let value = match context.scope.get("ansible_deprecation_warnings").map(modbox_template::Slot::content) {
        Some(Content::Source(source)) => context.engine.evaluate(source, context.scope).map(|found| found.value).ok(),
        Some(Content::Value(value)) => Some(value.clone()),
        _ => None,
    };
    value.is_none_or(|value| scalars::truth(&layer::to_json(&value)).unwrap_or(true))
}

/// Returns a message: a text or a list of texts.
fn message(context: &ActionContext<'_>, names: &[&str], default: &str) -> Result<Value, ActionError> {
    let given = names.iter().find_map(|name| Some((*name, context.args.get(*name)?)));
    let is_text = |value: &Value| value.as_str().is_some();
    match given {
        None => Ok(Value::from(default)),
        Some((_, value)) if is_text(value) || value.as_list().is_some_and(|items| items.iter().all(is_text)) => {
            Ok(value.clone())
        }
        Some((name, value)) => Err(ActionError::failed(format!(
            "argument '{name}' is of type {} and we were unable to convert to str_or_list_of_str: a string or list of \
             strings is required",
            value.type_name()
        ))),
    }
}
