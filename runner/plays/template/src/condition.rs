//! Conditions: `when`, `changed_when`, `failed_when`, `until` and the like.

use std::sync::Arc;

use minijinja::Value;
use modbox_jinja::values::{View, is_true, view};
use modbox_python_json::Value as Json;
use modbox_yaml::{Node, Source};

use crate::compile::{Expr, Form, Node as Step, Program};
use crate::error::{Kind, TemplateError};
use crate::evaluation::Evaluation;
use crate::omit::Omit;
use crate::options::TemplateOptions;
use crate::result::{finalized, run};
use crate::run::Rendering;
use crate::scope::Content;
use crate::text;
use crate::types::type_name;

/// How often a condition may stand for another one.
const MAX_INDIRECTIONS: usize = 10;

/// Returns whether a condition holds.
///
/// # Errors
///
/// The condition cannot be parsed, fails, or is not a boolean.
pub(crate) fn holds(evaluation: &Arc<Evaluation>, source: &Source) -> Result<bool, TemplateError> {
    let value = value_of(evaluation, source)?;
    if Omit::is(&value) {
        return Err(TemplateError::Omitted { kind: Kind::Condition, at: source.position().clone() });
    }
    match view(&value) {
        View::Bool(truth) => Ok(truth),
        _ => Err(not_boolean(
            source,
            format!(
                "Conditional result ({}) was derived from value of type '{}'. Conditionals must have a boolean result.",
                if is_true(&value) { "True" } else { "False" },
                type_name(&value)
            ),
        )),
    }
}

fn not_boolean(source: &Source, message: impl Into<Arc<str>>) -> TemplateError {
    TemplateError::NotBoolean { at: source.position().clone(), message: message.into() }
}

fn value_of(evaluation: &Arc<Evaluation>, source: &Source) -> Result<Value, TemplateError> {
    let text = match source.node() {
        Node::Scalar(Json::Bool(truth)) => return Ok(Value::from(*truth)),
        Node::Text(text) if !text.trim().is_empty() => text.trim(),
        Node::Scalar(Json::Null) | Node::Text(_) => {
            return Err(not_boolean(source, "Empty conditional expressions are not allowed."));
        }
        Node::Unsafe(_) => return Err(not_boolean(source, "Encountered untrusted template or expression.")),
        _ => return Err(not_boolean(source, "Conditional expressions must be strings.")),
    };
    if !text::is_all_template(text) {
        let result = run(evaluation, &trimmed(source), Form::Condition);
        return finalized(evaluation, source, result, Kind::Condition);
    }
    match named_text(evaluation, &trimmed(source))? {
        Some(expression) if expression.as_text().is_some_and(|text| text.trim().is_empty()) => {
            Err(not_boolean(source, "Empty conditional expressions are not allowed."))
        }
        Some(expression) => {
            let result = run(evaluation, &trimmed(&expression), Form::Condition);
            finalized(evaluation, source, result, Kind::Condition)
        }
        None => {
            let value = evaluation.source_value(&trimmed(source));
            let value = finalized(evaluation, source, Ok(value), Kind::Condition)?;
            match value.as_str() {
                Some("") => Err(not_boolean(source, "Empty conditional expressions are not allowed.")),
                Some(_) => Err(not_boolean(
                    source,
                    "Encountered untrusted template or expression. The template makes the text of a condition; write \
                     the condition itself, without delimiters",
                )),
                None => Ok(value),
            }
        }
    }
}

fn trimmed(source: &Source) -> Source {
    let Some(text) = source.as_text() else { return source.clone() };
    let start = text.len() - text.trim_start().len();
    match text.trim().len() {
        length if length == text.len() => source.clone(),
        length => source.text_of(start..start + length).unwrap_or_else(|| source.clone()),
    }
}

/// Returns the text of a play that a template stands for, when it is nothing but a variable that holds such a text.
pub(crate) fn named_text(evaluation: &Arc<Evaluation>, source: &Source) -> Result<Option<Source>, TemplateError> {
    Ok(written(evaluation, source)?.filter(|node| node.as_text().is_some()))
}

/// Returns the node of a play that a template stands for, when it is nothing but a variable, or a part of one.
pub(crate) fn written(evaluation: &Arc<Evaluation>, source: &Source) -> Result<Option<Source>, TemplateError> {
    let mut source = source.clone();
    for _ in 0..MAX_INDIRECTIONS {
        let options = TemplateOptions::default();
        let rendering = Rendering { form: Form::Template, options: &options, keeps_line_ends: false };
        let program = evaluation.compiled(&source, &rendering);
        let program = program.map_err(|stop| TemplateError::of_marker(&stop.0, Kind::Condition, source.position()))?;
        let Some(next) = only_expression(&program).and_then(|expression| place(evaluation, expression)) else {
            return Ok(None);
        };
        match next.as_text() {
            Some(text) if text::is_template(text) => source = next,
            _ => return Ok(Some(next)),
        }
    }
    Ok(None)
}

fn only_expression(program: &Program) -> Option<&Expr> {
    match &program.body[..] {
        [Step::Emit(_, expression)] => Some(expression),
        _ => None,
    }
}

/// Returns the node that a name, an attribute or an item is, without rendering anything.
fn place(evaluation: &Evaluation, expression: &Expr) -> Option<Source> {
    match expression {
        Expr::Name(name) => {
            let slot = evaluation.scope.get(name)?;
            let Content::Source(source) = slot.content() else { return None };
            slot.origins().for_each(|origin| evaluation.read(origin));
            Some(source.clone())
        }
        Expr::Attribute(object, key) => place(evaluation, object)?.as_map()?.get(key).cloned(),
        Expr::Item(object, key) => {
            let Expr::Constant(key) = &**key else { return None };
            let object = place(evaluation, object)?;
            match key.as_str() {
                Some(name) => object.as_map()?.get(name).cloned(),
                None => object.as_list()?.get(key.as_usize()?).cloned(),
            }
        }
        Expr::Filter(name, input, _) if matches!(&**name, "d" | "default") => place(evaluation, input),
        _ => None,
    }
}
