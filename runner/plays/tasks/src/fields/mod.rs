//! Evaluating keywords to values of their types, to conditions, defaults of arguments, and names.

pub mod conditions;
pub mod defaults;
pub mod finalize_error;
pub mod names;

use modbox_python_json::Value;
use modbox_template::{Content, Engine, Scope, TemplateError};
use modbox_yaml::Source;

use crate::keywords::{Keyword, Kind};
use crate::model::task::Task;
use crate::scalars::{float, truth, whole};
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
            Content::Scope(_) | Content::Hosts(_) | Content::Everything => return None,
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
