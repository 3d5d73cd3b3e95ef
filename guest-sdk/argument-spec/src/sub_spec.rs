//! Options inside options: the same steps for each dict.

use modbox_python_json::{Dict, Value};

use crate::spec::{ArgumentSpec, OptionSpec, OptionType};
use crate::validate::{ErrorKind, Run};

/// Validates the dicts in the options that hold them.
pub(crate) fn validate(run: &mut Run<'_>, spec: &ArgumentSpec, parameters: &mut Dict, prefix: &str) {
    for (name, option) in spec.options.iter().filter(|(_, option)| option.holds_dicts()) {
        let Some(sub_spec) = option.sub_spec.as_deref() else { continue };
        if option.apply_defaults && parameters.get(name).is_none_or(|value| *value == Value::Null) {
            parameters.insert(name.clone(), Value::Dict(Dict::new()));
        }
        let Some(value) = parameters.get_mut(name).filter(|value| **value != Value::Null) else { continue };
        run.context.push(name.clone());
        validate_value(run, name, option, sub_spec, value, prefix);
        run.context.pop();
    }
}

fn validate_value(
    run: &mut Run<'_>,
    name: &str,
    option: &OptionSpec,
    sub_spec: &ArgumentSpec,
    value: &mut Value,
    prefix: &str,
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
        let position = if option.option_type == OptionType::List { format!("[{index}]") } else { String::new() };
        run.fallbacks(sub_spec, entries);
        run.level(sub_spec, entries, &format!("{prefix}{name}{position}."));
    }
}
