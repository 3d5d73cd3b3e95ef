//! Calls of filters and tests that are Python plugins, and the form of values on the way.
//!
//! The caller runs the code; the engine only knows names, and exchanges data. A result is a value, never a template.

mod decode;
mod encode;
mod message;

use std::sync::Arc;

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Error, State, Value};
use modbox_jinja::{OutsidePlugins, PluginKind};

use crate::evaluation::Evaluation;
use crate::machine::{MarkerItems, Plugin};
use crate::marker::{Marker, Stop};
use crate::origin::Origin;
use crate::python_plugins::PythonPlugins;

/// Makes filters that call others by name find Python plugins.
pub(crate) fn install(state: &mut State<'_, '_>, evaluation: &Arc<Evaluation>) {
    // The evaluation holds no state, so there is no circle.
    let evaluation = Arc::clone(evaluation);
    OutsidePlugins::install(state, move |kind, name, arguments| {
        let machine = &evaluation.machine;
        let found = match kind {
            PluginKind::Filter => machine.filter(name),
            PluginKind::Test => machine.test(name),
        }?;
        if !found.is_python {
            return None;
        }
        evaluation.read(&Origin::Plugin(found.name.as_ref().into()));
        let result = match arguments.iter().find(|argument| Marker::is(argument)) {
            Some(marker) => Ok(marker.clone()),
            None => call(&*machine.python, kind, &found.name, arguments),
        };
        // A test has no other result than its truth, which a marker does not have.
        Some(match (kind, result) {
            (PluginKind::Test, Ok(value)) => Marker::of(&value).map_or(Ok(value), |marker| Err(Stop(marker).into())),
            (_, result) => result.map_err(|error| message::named(kind, name, error)),
        })
    });
}

/// Returns a plugin of a name as the engine calls it.
pub(crate) fn plugin(python: &Arc<dyn PythonPlugins>, kind: PluginKind, name: &str) -> Plugin {
    let (python, shown) = (Arc::clone(python), name.to_owned());
    let called = name.to_owned();
    let function = move |_: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
        call(&*python, kind, &called, &arguments.into_values())
    };
    Plugin {
        function: Value::from_function(function),
        name: shown.into(),
        accepts_markers: false,
        is_python: true,
        marker_items: MarkerItems::Read,
    }
}

fn call(python: &dyn PythonPlugins, kind: PluginKind, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let arguments = encode::arguments(arguments)?;
    let result = python.call(kind, name, arguments).map_err(|failure| message::error(kind, name, &failure))?;
    decode::value(&result).map_err(|reason| message::whole(format!("Error rendering template: {reason}")))
}
