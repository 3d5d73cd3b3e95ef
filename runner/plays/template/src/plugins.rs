//! The filters, tests and methods that templates have.

use std::collections::HashMap;
use std::sync::Arc;

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};
use modbox_jinja::{Host, PREFIXES, checks, filters as shared};

use crate::machine::{MarkerItems, Plugin};
use crate::marker::{Marker, Stop};
use crate::settling;

/// Filters whose arguments may hold undefined items.
const LAZY_FILTERS: [&str; 5] = ["map", "reject", "rejectattr", "select", "selectattr"];

/// Tests that compare a container with a value.
const COMPARING_TESTS: [&str; 6] = ["eq", "ge", "gt", "le", "lt", "ne"];

/// Filters or tests by their names.
pub(crate) type Plugins = HashMap<String, Plugin>;

pub(crate) fn filters(host: &Arc<dyn Host>) -> Plugins {
    let of_secrets = if host.secrets().is_some() { shared::OF_SECRETS } else { &[] };
    plugins(shared::ALL.iter().chain(of_secrets), &settling::FILTERS, host)
}

pub(crate) fn tests(host: &Arc<dyn Host>) -> Plugins {
    plugins(checks::ALL.iter(), &settling::TESTS, host)
}

/// Returns a name with its collection.
fn full_name(name: &str) -> String {
    if name.contains('.') { name.to_owned() } else { format!("ansible.builtin.{name}") }
}

fn plugins(
    all: impl Iterator<Item = &'static modbox_jinja::Plugin>,
    settling: &[(&'static str, settling::Settle)],
    host: &Arc<dyn Host>,
) -> Plugins {
    let mut plugins = Plugins::new();
    for plugin in all {
        let host = host.clone();
        let call = move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            plugin.call(state, &*host, &arguments.into_values())
        };
        let made = Plugin {
            function: Value::from_function(call),
            name: full_name(plugin.name).into(),
            accepts_markers: false,
            is_python: false,
            marker_items: marker_items(plugin.name),
        };
        plugins.extend(plugin.names().map(|name| (name, made.clone())));
    }
    // These need to see what is undefined.
    for (name, settle) in settling {
        let made = Plugin {
            function: settling::function(*settle),
            name: format!("ansible.builtin.{name}").into(),
            accepts_markers: true,
            is_python: false,
            marker_items: MarkerItems::Read,
        };
        plugins.extend(PREFIXES.map(|prefix| (format!("{prefix}{name}"), made.clone())));
    }
    plugins
}

fn marker_items(name: &str) -> MarkerItems {
    match name {
        "bool" => MarkerItems::Hashed,
        name if COMPARING_TESTS.contains(&name) => MarkerItems::Compared,
        name if LAZY_FILTERS.contains(&name) => MarkerItems::Accepted,
        _ => MarkerItems::Read,
    }
}

/// Returns the environment in which filters find each other, as `map('default', 1)` needs.
pub(crate) fn environment(filters: &Plugins, tests: &Plugins) -> Environment<'static> {
    let mut environment = Environment::empty();
    for (name, plugin) in filters {
        environment.add_filter(name.clone(), call(plugin.clone(), Ok));
    }
    for (name, plugin) in tests {
        // The result of a test is its truth, which a marker does not have.
        environment.add_test(name.clone(), call(plugin.clone(), settled));
    }
    environment
}

/// Returns a plugin that returns a marker among its arguments, and the results of which are checked.
fn call(
    plugin: Plugin,
    check: fn(Value) -> Result<Value, Error>,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> {
    move |state, arguments| {
        let arguments = arguments.into_values();
        let marker = arguments.iter().find(|argument| Marker::is(argument));
        match marker.filter(|_| !plugin.accepts_markers) {
            Some(marker) => check(marker.clone()),
            None => check(plugin.function.call(state, &arguments)?),
        }
    }
}

fn settled(value: Value) -> Result<Value, Error> {
    Marker::of(&value).map_or(Ok(value), |marker| Err(Stop(marker).into()))
}

/// Calls a method of Python's types.
///
/// # Errors
///
/// There is no such method, or it failed.
pub(crate) fn call_method(
    state: &mut State<'_, '_>,
    host: &dyn Host,
    receiver: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    modbox_jinja::call_method(state, host, receiver, name, arguments)
}
