//! Collects the secrets, which a module's output must not contain.
//!
//! A secret with lone surrogates is kept as text with U+FFFD in their place; masking compares texts in the same form.

use indexmap::IndexSet;
use modbox_python_json::{Dict, Value, str};

use crate::convert::convert;
use crate::environment::NoEnvironment;
use crate::spec::{ArgumentSpec, OptionSpec, OptionType};

/// Adds the secrets in `parameters` before any conversion.
///
/// # Errors
///
/// Sub-options are not a dict; the message is Ansible's. The secrets found until then are kept.
pub(crate) fn collect(spec: &ArgumentSpec, parameters: &Dict, secrets: &mut IndexSet<String>) -> Result<(), String> {
    let concerned = spec.options.iter().filter(|(_, option)| option.no_log == Some(true) || option.sub_spec.is_some());
    for (name, option) in concerned {
        let Some(value) = parameters.get(name) else { continue };
        if option.no_log == Some(true) && value.is_truthy() {
            add(value, secrets);
        }
        collect_sub_options(name, option, value, secrets)?;
    }
    Ok(())
}

fn collect_sub_options(
    name: &str,
    option: &OptionSpec,
    value: &Value,
    secrets: &mut IndexSet<String>,
) -> Result<(), String> {
    let Some(sub_spec) = option.sub_spec.as_deref().filter(|_| option.holds_dicts() && *value != Value::Null) else {
        return Ok(());
    };
    let items = value.as_list().unwrap_or_else(|| std::slice::from_ref(value));
    for item in items {
        match item {
            Value::Dict(entries) => collect(sub_spec, entries, secrets)?,
            Value::Str(_) | Value::Surrogates(_) => {
                let mut item = item.clone();
                convert(&mut item, OptionType::Dict, &NoEnvironment)?;
                let Value::Dict(entries) = item else { continue };
                collect(sub_spec, &entries, secrets)?;
            }
            _ => {
                let (wanted, found) = (option.option_type.name(), item.type_name());
                let shown = str(item);
                return Err(format!(
                    "Value '{shown}' in the sub parameter field '{name}' must be a {wanted}, not '{found}'"
                ));
            }
        }
    }
    Ok(())
}

/// Adds every text and number in a value. Bools, null and empty text are ignored.
pub(crate) fn add(value: &Value, secrets: &mut IndexSet<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::List(items) => items.iter().for_each(|item| add(item, secrets)),
        Value::Dict(entries) => entries.values().for_each(|item| add(item, secrets)),
        _ => {
            let text = str(value);
            if !text.is_empty() {
                secrets.insert(text);
            }
        }
    }
}

/// Adds a default. The default is converted to text: `True` is the secret of a secret option whose default is true.
pub(crate) fn add_default(default: &Value, secrets: &mut IndexSet<String>) {
    if matches!(default, Value::Bool(_)) {
        secrets.insert(str(default));
    } else {
        add(default, secrets);
    }
}
