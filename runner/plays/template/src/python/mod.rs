//! Calls of filters, tests and lookups that are Python plugins, and the form of values on the way.
//!
//! The caller runs the code; the engine only knows names, and exchanges data. A result is a value, never a template.

mod decode;
mod encode;
mod exchange;
mod message;
mod variables;

use std::sync::Arc;

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Error, State, Value};
use modbox_jinja::{OutsidePlugins, PluginKind};

use self::exchange::Exchange;
use self::variables::TemplateVariables;
use crate::evaluation::Evaluation;
use crate::machine::{MarkerItems, Plugin};
use crate::marker::{Marker, Stop};
use crate::origin::Origin;
use crate::python_plugins::{PluginCall, PythonPlugins};

/// The evaluation that a state belongs to.
#[derive(Debug, Clone)]
struct Caller(Arc<Evaluation>);

/// Makes filters that call others by name find Python plugins.
pub(crate) fn install(state: &mut State<'_, '_>, evaluation: &Arc<Evaluation>) {
    // The evaluation holds no state, so there is no circle.
    state.get_or_insert_extension(Caller(Arc::clone(evaluation)));
    let evaluation = Arc::clone(evaluation);
    OutsidePlugins::install(state, move |kind, name, arguments| {
        let machine = &evaluation.machine;
        let found = match kind {
            PluginKind::Filter => machine.filter(name),
            PluginKind::Test => machine.test(name),
            // No filter or test calls a lookup.
            PluginKind::Lookup => None,
        }?;
        if !found.is_python {
            return None;
        }
        evaluation.read(&Origin::Plugin(found.name.as_ref().into()));
        let marker = arguments.iter().find(|argument| Marker::is(argument));
        let result = match marker.filter(|_| !found.accepts_markers) {
            Some(marker) => Ok(marker.clone()),
            None => call(&evaluation, kind, &found.name, arguments),
        };
        // A test has no other result than its truth, which a marker does not have.
        Some(match (kind, result) {
            (PluginKind::Test, Ok(value)) => Marker::of(&value).map_or(Ok(value), |marker| Err(Stop(marker).into())),
            (_, result) => result.map_err(|error| message::named(kind, name, error)),
        })
    });
}

/// Returns a plugin of a name as the engine calls it.
pub(crate) fn plugin(python: &dyn PythonPlugins, kind: PluginKind, name: &str) -> Plugin {
    let called = name.to_owned();
    let function = move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
        let caller = state.get_extension::<Caller>().cloned();
        let caller = caller.ok_or_else(|| message::whole("a Python plugin needs a template around it".to_owned()))?;
        call(&caller.0, kind, &called, &arguments.into_values())
    };
    Plugin {
        function: Value::from_function(function),
        name: name.to_owned().into(),
        accepts_markers: python.accepts_undefined(kind, name),
        is_python: true,
        marker_items: MarkerItems::Read,
    }
}

/// Calls a plugin.
///
/// # Errors
///
/// It failed, or a value on the way cannot be one. A [`Stop`] is the source of the error if an argument stops the template.
pub(crate) fn call(
    evaluation: &Arc<Evaluation>,
    kind: PluginKind,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let exchange = Exchange::new(evaluation);
    let arguments = encode::arguments(&exchange, arguments)?;
    let variables = TemplateVariables(&exchange);
    let result = evaluation.machine.python.call(&PluginCall { kind, name, arguments, variables: &variables });
    // Variables that the plugin read may have used undefined ones, which does not fail its arguments.
    evaluation.trip.take();
    let result = result.map_err(|failure| message::error(kind, name, &failure))?;
    evaluation.make_here(decode::size(&result))?;
    let unsupported = |reason| message::whole(format!("Error rendering template: {reason}"));
    decode::value(&exchange, &result).map_err(unsupported)
}
