//! Evaluating keywords to values of their types.

use modbox_python_json::Value;
use modbox_template::{Content, Engine, Scope, TemplateError};
use modbox_yaml::Source;

use crate::keywords::{Keyword, Kind};
use crate::model::task::Task;
use crate::vars::layer;

/// A failure to evaluate a keyword.
#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    /// The template failed.
    #[error("Error processing keyword {}.", quoted(.keyword.text()))]
    Template {
        /// The keyword.
        keyword: Keyword,
        /// Its source.
        source_text: Source,
        /// Why.
        #[source]
        cause: TemplateError,
    },
    /// The value does not have the keyword's type.
    #[error("Error processing keyword {}.", quoted(.keyword.text()))]
    Type {
        /// The keyword.
        keyword: Keyword,
        /// Its source.
        source_text: Source,
        /// What is wrong, in Ansible's words.
        message: String,
    },
}

fn quoted(text: &str) -> String {
    modbox_python_json::str_repr(text)
}

/// Evaluates keywords with the variables of a task.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// The template engine.
    pub engine: &'a Engine,
    /// The variables.
    pub scope: &'a Scope,
}

impl Fields<'_> {
    /// Evaluates a variable that decides in place of a keyword or a setting. `None` if there is none, or if it cannot be
    /// evaluated.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Value> {
        let value = match self.scope.get(name)?.content() {
            Content::Source(source) => layer::to_json(&self.engine.evaluate(source, self.scope).ok()?.value),
            Content::Value(value) => layer::to_json(value),
            Content::Scope(_) | Content::Everything => return None,
        };
        Some(value).filter(|value| *value != Value::Null)
    }

    /// Evaluates a keyword of a task. `None` if the task has none, or if it is omitted.
    ///
    /// # Errors
    ///
    /// The template fails.
    pub fn value(&self, task: &Task, keyword: Keyword) -> Result<Option<Value>, FieldError> {
        task.keyword(keyword).map_or(Ok(None), |source| self.source(keyword, source))
    }

    /// Evaluates the source of a keyword.
    ///
    /// # Errors
    ///
    /// The template fails.
    pub fn source(&self, keyword: Keyword, source: &Source) -> Result<Option<Value>, FieldError> {
        let failed = |cause| FieldError::Template { keyword, source_text: source.clone(), cause };
        let evaluated = self.engine.evaluate_omittable(source, self.scope).map_err(failed)?;
        Ok(evaluated.value.map(|value| layer::to_json(&value)).filter(|value| *value != Value::Null))
    }

    /// Evaluates a boolean.
    ///
    /// # Errors
    ///
    /// The template fails, or the value is not a boolean or a word for one.
    pub fn flag(&self, task: &Task, keyword: Keyword, default: bool) -> Result<bool, FieldError> {
        let Some(value) = self.value(task, keyword)? else { return Ok(default) };
        truth(&value).ok_or_else(|| wrong_type(task, keyword, &value))
    }

    /// Evaluates a number with a fraction.
    ///
    /// # Errors
    ///
    /// The template fails, or the value is not a number.
    pub fn number(&self, task: &Task, keyword: Keyword) -> Result<Option<f64>, FieldError> {
        let Some(value) = self.value(task, keyword)? else { return Ok(None) };
        float(&value).map(Some).ok_or_else(|| wrong_type(task, keyword, &value))
    }

    /// Evaluates an integer.
    ///
    /// # Errors
    ///
    /// The template fails, or the value is not a whole number.
    pub fn integer(&self, task: &Task, keyword: Keyword) -> Result<Option<i64>, FieldError> {
        let Some(value) = self.value(task, keyword)? else { return Ok(None) };
        whole(&value).map(Some).ok_or_else(|| wrong_type(task, keyword, &value))
    }

    /// Evaluates text.
    ///
    /// # Errors
    ///
    /// The template fails.
    pub fn text(&self, task: &Task, keyword: Keyword) -> Result<Option<String>, FieldError> {
        Ok(self.value(task, keyword)?.map(|value| modbox_python_json::str(&value)))
    }
}

/// Returns the error that a value does not have the type of a keyword.
fn wrong_type(task: &Task, keyword: Keyword, value: &Value) -> FieldError {
    let kind = match keyword.row().kind {
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Percent => "percent",
        _ => "string",
    };
    let message = format!("The value {} could not be converted to '{kind}'.", modbox_python_json::repr(value));
    let source_text = task.keyword(keyword).cloned().unwrap_or_else(|| task.action.clone());
    FieldError::Type { keyword, source_text, message }
}

/// Returns the truth of a value as Ansible reads booleans.
#[must_use]
pub fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Int(1) => Some(true),
        Value::Int(0) => Some(false),
        Value::Float(number) if *number == 1.0 => Some(true),
        Value::Float(number) if *number == 0.0 => Some(false),
        Value::Str(text) => match text.trim().to_lowercase().as_str() {
            "y" | "yes" | "on" | "1" | "true" | "t" => Some(true),
            "n" | "no" | "off" | "0" | "false" | "f" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a number with a fraction.
#[must_use]
pub fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Str(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()),
        // Exact for all times and counts that make sense.
        Value::Int(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// Returns a whole number.
#[must_use]
pub fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Str(text) => text.trim().parse().ok().or_else(|| whole_text(&text.trim().parse::<f64>().ok()?)),
        Value::Float(number) => whole_text(number),
        _ => None,
    }
}

fn whole_text(number: &f64) -> Option<i64> {
    (number.fract() == 0.0).then(|| format!("{number:.0}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_booleans_as_in_ansible() {
        let check = |value: Value, expect| assert_eq!(truth(&value), expect, "{value:?}");
        check(Value::from("Yes"), Some(true));
        check(Value::from("off"), Some(false));
        check(Value::from("maybe"), None);
        check(Value::Int(1), Some(true));
        check(Value::Int(2), None);
        check(Value::Null, None);
    }

    #[test]
    fn numbers_are_whole_or_refused() {
        let check = |value: Value, expect| assert_eq!(whole(&value), expect, "{value:?}");
        check(Value::from("12"), Some(12));
        check(Value::Float(3.0), Some(3));
        check(Value::Float(3.5), None);
        check(Value::from("2.0"), Some(2));
        check(Value::from("x"), None);
    }
}
