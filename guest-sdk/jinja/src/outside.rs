//! Filters and tests that an engine has besides those of this crate, such as Python plugins of a play.
//!
//! `map`, `select` and the like call others by their names. An engine installs what runs its own, which come before those of
//! the environment.

use std::fmt;
use std::sync::Arc;

use minijinja::{Error, State, Value};

use crate::plugin_kind::PluginKind;

/// Runs a filter or test of the engine by its name; `None` if the engine has none of that name.
type Run = dyn Fn(PluginKind, &str, &[Value]) -> Option<Result<Value, Error>> + Send + Sync;

/// The filters and tests of an engine.
#[derive(Clone)]
pub struct OutsidePlugins(Arc<Run>);

impl fmt::Debug for OutsidePlugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsidePlugins").finish_non_exhaustive()
    }
}

impl OutsidePlugins {
    /// Makes filters that a state calls find the plugins of an engine. `run` gets the kind, the name and the arguments, as
    /// minijinja passes them, and returns `None` for a name that the engine does not have.
    pub fn install(
        state: &mut State<'_, '_>,
        run: impl Fn(PluginKind, &str, &[Value]) -> Option<Result<Value, Error>> + Send + Sync + 'static,
    ) {
        state.get_or_insert_extension(Self(Arc::new(run)));
    }
}

/// Calls a filter by its name.
pub(crate) fn filter(state: &mut State<'_, '_>, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    run(state, PluginKind::Filter, name, arguments).unwrap_or_else(|| state.apply_filter(name, arguments))
}

/// Returns whether a value passes a test, by the name of the test.
pub(crate) fn test(state: &mut State<'_, '_>, name: &str, arguments: &[Value]) -> Result<bool, Error> {
    match run(state, PluginKind::Test, name, arguments) {
        Some(result) => result.map(|value| crate::values::is_true(&value)),
        None => state.perform_test(name, arguments),
    }
}

fn run(state: &State<'_, '_>, kind: PluginKind, name: &str, arguments: &[Value]) -> Option<Result<Value, Error>> {
    let outside = state.get_extension::<OutsidePlugins>()?.clone();
    outside.0(kind, name, arguments)
}
