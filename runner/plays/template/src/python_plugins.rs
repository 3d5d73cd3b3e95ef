//! Filters, tests and lookups that are Python plugins: what the engine asks of its caller, which runs them.

use std::fmt::Debug;
use std::sync::Arc;

use modbox_jinja::PluginKind;
use modbox_python_json::Value as Json;

/// Python plugins of a play and of its collections.
pub trait PythonPlugins: Debug + Send + Sync {
    /// Says whether a plugin beside the play or in a role has a name. It hides a plugin of `ansible.builtin` under its short
    /// name.
    fn hides(&self, kind: PluginKind, name: &str) -> bool;

    /// Says whether there is a plugin of a name that neither modbox nor a folder beside the play has: one of a collection, or
    /// a short name that ansible-core leads to one.
    fn has(&self, kind: PluginKind, name: &str) -> bool;

    /// Says whether a plugin that there is takes undefined arguments. For others the first of these is the result.
    fn accepts_undefined(&self, kind: PluginKind, name: &str) -> bool;

    /// Calls a plugin, and returns its result: for a lookup, a list. While it runs, the plugin may read variables.
    ///
    /// # Errors
    ///
    /// The plugin raised an exception, or could not be run.
    fn call(&self, call: &PluginCall<'_>) -> Result<Json, PluginFailure>;
}

/// A call of a Python plugin.
///
/// Values in arguments, variables and the result are JSON, with marks for what JSON lacks: `{"~": "tuple", "v": [..]}`, and
/// the same for `dict` (pairs), `bytes` (text with a character for each byte), `date`, `datetime` (microseconds since 1970,
/// seconds east of UTC, name of the zone), `time` and `timedelta` (microseconds), `omit` (null), and `undefined`: towards the
/// plugin a number and a text, from it such a number, or the text of a new one.
#[derive(Debug)]
pub struct PluginCall<'a> {
    /// The kind.
    pub kind: PluginKind,
    /// The name, as the template has it.
    pub name: &'a str,
    /// A dict of `args`, a list, and `kwargs`, a dict. Those of a lookup are its terms and options.
    pub arguments: Json,
    /// The variables of the template.
    pub variables: &'a dyn CallVariables,
}

/// The variables of the template that calls a plugin. A path is empty for all variables, or names mappings of variables, such
/// as `hostvars` and a host in it.
pub trait CallVariables: Debug {
    /// Returns the names at a path; none where there is no mapping of variables.
    fn names(&self, path: &[&str]) -> Vec<Arc<str>>;

    /// Returns the variable at a path, rendered.
    fn read(&self, path: &[&str]) -> Variable;
}

/// What a path of variables leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Variable {
    /// Nothing.
    Missing,
    /// A mapping of further variables.
    Mapping,
    /// A value. One that failed is undefined.
    Value(Json),
}

/// A failed call of a Python plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginFailure {
    /// The text of the exception, which may be empty.
    #[error("{0}")]
    Raised(String),
    /// The result is of a type that no variable can have, by Python's name of the type.
    #[error("Error rendering template: Type '{0}' is unsupported for variable storage.")]
    Type(String),
}

/// No Python plugins.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPythonPlugins;

impl PythonPlugins for NoPythonPlugins {
    fn hides(&self, _: PluginKind, _: &str) -> bool {
        false
    }

    fn has(&self, _: PluginKind, _: &str) -> bool {
        false
    }

    fn accepts_undefined(&self, _: PluginKind, _: &str) -> bool {
        false
    }

    fn call(&self, call: &PluginCall<'_>) -> Result<Json, PluginFailure> {
        let PluginCall { kind, name, .. } = call;
        Err(PluginFailure::Raised(format!("there is no Python plugin for the {kind:?} `{name}`")))
    }
}
