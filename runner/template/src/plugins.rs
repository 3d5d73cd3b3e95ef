//! The filters, tests and methods that templates have.

use std::borrow::Cow;
use std::collections::HashMap;

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};

use crate::machine::Plugin;
use crate::settling::{self, Settle};

/// Filters whose arguments may hold undefined items.
const LAZY_FILTERS: [&str; 7] = ["map", "reject", "rejectattr", "select", "selectattr", "to_nice_yaml", "to_yaml"];

const FILTERS: &str = "abs batch bool capitalize chain count dictsort e escape first float format groupby indent int \
                       items join last length lines list lower map max min pprint reject rejectattr replace reverse \
                       round safe select selectattr slice sort split string sum title trim unique upper zip";
const TESTS: &str = "boolean divisibleby endingwith eq equalto escaped even false filter float ge greaterthan gt in \
                     integer iterable le lessthan lower lt mapping ne none number odd safe sameas sequence startingwith \
                     string test true upper";

/// Returns the filters by their names.
pub(crate) fn filters() -> HashMap<String, Plugin> {
    let engine = FILTERS.split_ascii_whitespace().map(|name| {
        let call = move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            state.apply_filter(name, &arguments.into_values())
        };
        plugin(name, Value::from_function(call), false)
    });
    let own = settling::FILTERS.into_iter().map(|(name, settle)| plugin(name, settling::function(settle), true));
    with_full_names(engine.chain(own))
}

/// Returns the tests by their names.
pub(crate) fn tests() -> HashMap<String, Plugin> {
    let engine = TESTS.split_ascii_whitespace().map(|name| {
        let call = move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            state.perform_test(name, &arguments.into_values())
        };
        plugin(name, Value::from_function(call), false)
    });
    let own = settling::TESTS.into_iter().map(|(name, settle)| plugin(name, settling::function(settle), true));
    with_full_names(engine.chain(own))
}

fn plugin(name: &'static str, function: Value, accepts_markers: bool) -> (&'static str, Plugin) {
    let full = format!("ansible.builtin.{name}");
    let accepts_marker_items = LAZY_FILTERS.contains(&name);
    (name, Plugin { function, name: Cow::Owned(full), accepts_markers, accepts_marker_items })
}

fn with_full_names(plugins: impl Iterator<Item = (&'static str, Plugin)>) -> HashMap<String, Plugin> {
    let names = |name: &str| [name.to_owned(), format!("ansible.builtin.{name}"), format!("ansible.legacy.{name}")];
    plugins.flat_map(|(name, plugin)| names(name).map(|name| (name, plugin.clone()))).collect()
}

/// Returns the environment in which filters find each other, as `map('default', 1)` needs.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let register =
        |settle: Settle| move |_: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| settle(&arguments.into_values());
    for (name, settle) in settling::FILTERS {
        environment.add_filter(name, register(settle));
    }
    for (name, settle) in settling::TESTS {
        environment.add_test(name, register(settle));
    }
    environment
}

/// Calls a method of Python's types.
///
/// # Errors
///
/// There is no such method, or it failed.
pub(crate) fn call_method(
    state: &mut State<'_, '_>,
    receiver: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    receiver.call_method(state, name, arguments)
}
