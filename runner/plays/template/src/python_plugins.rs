//! Filters and tests that are Python plugins: what the engine asks of its caller, which runs them.

use std::fmt::Debug;

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

    /// Calls a plugin. `arguments` is a dict of `args`, a list, and `kwargs`, a dict. Values in them and the result are
    /// JSON, with marks for what JSON lacks: `{"~": "tuple", "v": [..]}`, and the same for `dict` (pairs), `bytes` (text
    /// with a character for each byte), `date`, `datetime` (microseconds since 1970, seconds east of UTC, name of the
    /// zone), `time` and `timedelta` (microseconds).
    ///
    /// # Errors
    ///
    /// The plugin raised an exception, or could not be run.
    fn call(&self, kind: PluginKind, name: &str, arguments: Json) -> Result<Json, PluginFailure>;
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

    fn call(&self, kind: PluginKind, name: &str, _: Json) -> Result<Json, PluginFailure> {
        Err(PluginFailure::Raised(format!("there is no Python plugin for the {kind:?} `{name}`")))
    }
}
