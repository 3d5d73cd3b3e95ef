//! `service`: runs the module of the host's service manager.

use modbox_python_json::Dict;

use crate::actions::backends::backend::{gathered_fact, is_module, known_fact, module_args};
use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;

/// Service managers whose modules are Ansible's own.
const BUILTIN: [&str; 4] = ["openwrt_init", "service", "systemd", "sysvinit"];

/// Arguments that the module `systemd` does not take.
const NOT_OF_SYSTEMD: [&str; 5] = ["pattern", "runlevel", "sleep", "arguments", "args"];

/// Runs the module of the service manager.
///
/// # Errors
///
/// The module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let mut module = context.text("use").unwrap_or_else(|| "auto".to_owned()).to_lowercase();
    if module == "auto" {
        module = match known_fact(context, "ansible_facts.service_mgr") {
            Some(known) => known,
            None => gathered_fact(context, "ansible_service_mgr", "service action backend")?.unwrap_or(module),
        };
    }
    if module.is_empty() || module == "auto" || !is_module(context, &module) {
        module = "ansible.legacy.service".to_owned();
    }
    let mut args = context.args.clone();
    args.shift_remove("use");
    if module == "systemd" {
        for name in NOT_OF_SYSTEMD {
            if args.shift_remove(name).is_some() {
                context.warn(format!("Ignoring \"{name}\" as it is not used in \"systemd\""));
            }
        }
    }
    let args = module_args(context, &module, args)?;
    let prefix = if BUILTIN.contains(&module.as_str()) { "ansible.legacy." } else { "" };
    context.run_module(&format!("{prefix}{module}"), args)
}
