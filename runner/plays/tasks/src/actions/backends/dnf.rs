//! `dnf`: runs the module of the installed version of dnf.

use modbox_python_json::{Dict, Value};

use crate::actions::backends::backend::{gathered_fact, is_module, known_fact};
use crate::actions::context::{ActionContext, entry};
use crate::actions::copies::copying::failure;
use crate::actions::error::ActionError;

const BACKENDS: [&str; 5] = ["yum", "yum4", "dnf", "dnf4", "dnf5"];

/// Runs the module of the installed version.
///
/// # Errors
///
/// The module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let (named, backend) = (context.text("use"), context.text("use_backend"));
    if named.is_some() && backend.is_some() {
        return Err(ActionError::failed("parameters are mutually exclusive: ('use', 'use_backend')"));
    }
    let mut module = named.or(backend).unwrap_or_else(|| "auto".to_owned());
    if matches!(module.as_str(), "yum" | "auto") {
        module = known_fact(context, "ansible_facts.pkg_mgr").unwrap_or(module);
    }
    let mut result = Dict::new();
    if !BACKENDS.contains(&module.as_str()) {
        let found = gathered_fact(context, "ansible_pkg_mgr", "dnf action backend")?;
        if let Some(found) = &found {
            result.insert("ansible_facts".to_owned(), Value::Dict(entry("pkg_mgr", found.as_str())));
        }
        module = found.unwrap_or_else(|| "auto".to_owned());
    }
    if !BACKENDS.contains(&module.as_str()) {
        result.extend(failure(
            "Could not detect which major revision of dnf is in use, which is required to determine module backend. You \
             should manually specify use_backend to tell the module whether to use the dnf4 or dnf5 backend.",
        ));
        return Ok(result);
    }
    let module = if matches!(module.as_str(), "yum4" | "dnf4") { "dnf".to_owned() } else { module };
    let module = format!("ansible.legacy.{module}");
    if !is_module(context, &module) {
        result.extend(failure(&format!("Could not find a dnf module backend for {module}.")));
        return Ok(result);
    }
    let mut args = context.args.clone();
    args.shift_remove("use");
    args.shift_remove("use_backend");
    result.extend(context.run_module(&module, args)?);
    Ok(result)
}
