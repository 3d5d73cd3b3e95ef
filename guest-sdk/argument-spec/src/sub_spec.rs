//! Options inside options: the same steps for each dict.

use modbox_python_json::{Dict, Value};

use crate::shared::Sharing;
use crate::spec::{ArgumentSpec, OptionSpec, OptionType};
use crate::steps::{Positions, Run};
use crate::validate::ErrorKind;

/// Validates the dicts in the options that hold them.
pub(crate) fn validate<'a>(
    run: &mut Run<'a>,
    spec: &'a ArgumentSpec,
    parameters: &mut Dict,
    at: &Positions,
    sharing: &Sharing<'a>,
) {
    for ((name, option), at) in spec.options.iter().zip(at) {
        let Some(sub_spec) = option.sub_spec.as_deref().filter(|_| option.holds_dicts()) else { continue };
        let Some((_, value)) = at.and_then(|at| parameters.get_index_mut(at)) else { continue };
        if *value == Value::Null {
            if !option.apply_defaults {
                continue;
            }
            *value = Value::Dict(Dict::new());
        }
        run.path.push((name, None));
        validate_value(run, name, option, sub_spec, value);
        run.path.pop();
        sharing.spread(name, parameters);
    }
}

fn validate_value<'a>(
    run: &mut Run<'a>,
    name: &'a str,
    option: &OptionSpec,
    sub_spec: &'a ArgumentSpec,
    value: &mut Value,
) {
    let items = match value {
        Value::List(items) => items.as_mut_slice(),
        single => std::slice::from_mut(single),
    };
    for (index, item) in items.iter_mut().enumerate() {
        let Value::Dict(entries) = item else {
            run.error(ErrorKind::SubParameterType, format!("value of '{name}' must be of type dict or list of dicts"));
            continue;
        };
        if let Some((_, position)) = run.path.last_mut() {
            *position = (option.option_type == OptionType::List).then_some(index);
        }
        run.level(sub_spec, entries);
    }
}
