//! Adds filters, tests and methods to an environment.

use std::sync::Arc;

use minijinja::functions::namespace;
use minijinja::value::{Kwargs, Rest, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value};

use crate::host::Host;
use crate::locals::FILTER;
use crate::methods::call_method;
use crate::values::mutable;
use crate::{checks, filters};

/// Adds all filters and tests to an environment, under all their names, the methods of Python's types, and what
/// [`changeable_locals`](crate::changeable_locals) needs.
pub fn add(environment: &mut Environment<'_>, host: &Arc<dyn Host>) {
    let method_host = Arc::clone(host);
    environment.set_unknown_method_callback(move |state, value, name, args| {
        call_method(state, &*method_host, value, name, args)
    });
    environment.add_filter(FILTER, |value: Value| mutable(&value).map_err(Error::from));
    environment.add_function("namespace", |defaults: Option<ValueOrKwargs>| {
        let defaults = defaults.map(|defaults| mutable_defaults(&defaults.into_value())).transpose()?;
        namespace(defaults.map(ValueOrKwargs::from))
    });
    let of_secrets = if host.secrets().is_some() { filters::OF_SECRETS } else { &[] };
    for plugin in filters::ALL.iter().chain(of_secrets) {
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

/// Returns the entries of a namespace with changeable lists and dicts.
fn mutable_defaults(defaults: &Value) -> Result<Value, Error> {
    if !defaults.is_kwargs() {
        return Ok(mutable(defaults)?);
    }
    let kwargs = Kwargs::try_from(defaults.clone())?;
    let names: Vec<String> = kwargs.args().map(str::to_owned).collect();
    let entry = |name: String| Ok((name.clone(), mutable(&kwargs.peek::<Value>(&name)?)?));
    Ok(Value::from(names.into_iter().map(entry).collect::<Result<Kwargs, Error>>()?))
}

fn values(args: Rest<ValueOrKwargs>) -> Vec<Value> {
    args.0.into_iter().map(Value::from).collect()
}
