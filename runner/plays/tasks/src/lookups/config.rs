//! `config`: settings of Ansible, as the variables of a host, the environment and `ansible.cfg` set them.

use modbox_jinja::values;
use modbox_python_json::Value as Json;
use modbox_template::{LookupError, Value};

use super::call::Call;
use super::options::failed;
use crate::settings::{self, Setting};

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let missing = call.options.text("on_missing")?.unwrap_or_else(|| "error".to_owned());
    if !matches!(missing.as_str(), "error" | "warn" | "skip") {
        return Err(failed(format!(
            "Invalid option for error handling, missing must be error, warn or skip, got: {missing}."
        )));
    }
    check_plugin(call)?;
    let shows_origin = call.options.flag("show_origin", false)?;
    let mut found = Vec::new();
    for term in call.texts()? {
        let Some(setting) = settings::find(term) else {
            match missing.as_str() {
                "error" => return Err(failed(format!("No config definition exists for '{term}'."))),
                "warn" => call.host.warn(&format!("Skipping {term}. No config definition exists for '{term}'.")),
                _ => {}
            }
            continue;
        };
        let (value, origin) = value(call, setting)?;
        let value = values::from_json(&value);
        found.push(if shows_origin { Value::from(vec![value, Value::from(origin)]) } else { value });
    }
    Ok(found)
}

fn check_plugin(call: &Call<'_>) -> Result<(), LookupError> {
    match (call.options.text("plugin_type")?, call.options.text("plugin_name")?) {
        (None, None) => Ok(()),
        (Some(kind), Some(name)) => Err(failed(format!(
            "failed to read settings of the {kind} plugin `{name}`: modbox has no plugins; name a setting of Ansible \
             itself, without `plugin_type` and `plugin_name`"
        ))),
        _ => Err(failed("Both plugin_type and plugin_name are required, cannot use one without the other.")),
    }
}

/// Returns the value of a setting, and where it comes from.
fn value(call: &Call<'_>, setting: &Setting) -> Result<(Json, String), LookupError> {
    let of_host = setting.variables.iter().find_map(|name| Some((call.variable(name)?, format!("var: {name}"))));
    if let Some(found) = of_host {
        return Ok(found);
    }
    let given = call.host.setting(setting.name);
    let (mut value, origin) = given.unwrap_or_else(|| (setting.default_value(), "default".to_owned()));
    match &mut value {
        Json::Str(path) if path.starts_with("~/") => *path = call.expand(path)?,
        Json::List(items) => {
            for item in items {
                if let Json::Str(path) = item
                    && path.starts_with("~/")
                {
                    *path = call.expand(path)?;
                }
            }
        }
        _ => {}
    }
    Ok((value, origin))
}
