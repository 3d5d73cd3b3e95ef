//! Adds filters, tests and methods to an environment.

use std::sync::Arc;

use minijinja::value::{Rest, ValueOrKwargs};
use minijinja::{Environment, State, Value};

use crate::host::Host;
use crate::{checks, filters};

/// Adds all filters and tests to an environment, under all their names.
pub fn add(environment: &mut Environment<'_>, host: &Arc<dyn Host>) {
    for plugin in filters::ALL {
        for name in plugin.names() {
            let host = Arc::clone(host);
            environment.add_filter(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
                plugin.call(state, &*host, &values(args))
            });
        }
    }
    for plugin in checks::ALL {
        for name in plugin.names() {
            let host = Arc::clone(host);
            environment.add_test(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
                plugin.check(state, &*host, &values(args))
            });
        }
    }
}

fn values(args: Rest<ValueOrKwargs>) -> Vec<Value> {
    args.0.into_iter().map(Value::from).collect()
}
