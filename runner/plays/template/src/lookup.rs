//! Lookups that act: what the caller of the engine does for `lookup('file', …)` and the like.

use std::fmt::Debug;
use std::sync::Arc;

use minijinja::Value;
use modbox_yaml::Source;

use crate::files::TemplateFiles;
use crate::options::TemplateOptions;
use crate::scope::Scope;

/// A call of a lookup.
#[derive(Debug)]
pub struct LookupCall<'a> {
    /// The lookup's name, without `ansible.builtin.` in front.
    pub name: &'a str,
    /// The terms.
    pub terms: Vec<Value>,
    /// The named arguments, without `wantlist` and `errors`.
    pub options: Vec<(Arc<str>, Value)>,
    /// Whether the results are the items of a loop, as with `with_first_found`.
    pub is_loop: bool,
    /// The variables that the template sees.
    pub scope: &'a Scope,
    /// What renders template files for the lookup.
    pub renderer: &'a dyn FileRenderer,
}

/// Renders template files within the evaluation that calls a lookup.
pub trait FileRenderer: Debug {
    /// Renders a template file with variables.
    ///
    /// # Errors
    ///
    /// The template cannot be parsed, or fails.
    fn render_file(
        &self,
        template: &Source,
        scope: &Scope,
        options: &TemplateOptions,
        files: Arc<dyn TemplateFiles>,
    ) -> Result<Value, LookupError>;
}

/// A failed lookup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// There is no such lookup, or the caller does not have it.
    #[error("The lookup plugin '{0}' was not found.")]
    Unknown(String),
    /// The policy does not allow it.
    #[error("{0}")]
    Denied(String),
    /// Its result is undefined.
    #[error("{0}")]
    Undefined(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

/// Lookups that read files, run commands or ask the environment. They ask the caller's policy.
pub trait Lookups: Send + Sync {
    /// Returns the results of a lookup. They are data, never templates.
    ///
    /// # Errors
    ///
    /// The lookup is unknown, is denied, or failed.
    fn lookup(&self, call: &LookupCall<'_>) -> Result<Vec<Value>, LookupError>;
}

/// No lookups that act.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLookups;

impl Lookups for NoLookups {
    fn lookup(&self, call: &LookupCall<'_>) -> Result<Vec<Value>, LookupError> {
        Err(LookupError::Unknown(call.name.to_owned()))
    }
}
