//! `package`: runs the module of the host's package manager.

use modbox_python_json::Dict;

use crate::actions::backends::backend::{gathered_fact, is_module, known_fact, module_args};
use crate::actions::context::ActionContext;
use crate::actions::error::ActionError;

/// Package managers whose modules are Ansible's own.
const BUILTIN: [&str; 21] = [
    "apk",
    "apt",
    "atomic_container",
    "dnf",
    "dnf5",
    "homebrew",
    "installp",
    "macports",
    "opkg",
    "pacman",
    "pkg5",
    "pkgin",
    "pkgng",
    "portage",
    "sorcery",
    "svr4pkg",
    "swdepot",
    "swupd",
    "urpmi",
    "xbps",
    "zypper",
];

/// Runs the module of the package manager.
///
/// # Errors
///
/// The package manager is unknown, or the module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let mut module = context.text("use").unwrap_or_else(|| "auto".to_owned());
    if module == "auto" {
        module = detect(context)?;
    }
    if module.is_empty() || module == "auto" {
        return Err(ActionError::failed(
            "Could not detect which package manager to use. Try gathering facts or setting the \"use\" option.",
        ));
    }
    if !is_module(context, &module) {
        return Err(ActionError::failed(format!(
            "Could not find a matching action for the \"{module}\" package manager."
        )));
    }
    let mut args = context.args.clone();
    args.shift_remove("use");
    let args = module_args(context, &module, args)?;
    let prefix = if BUILTIN.contains(&module.as_str()) { "ansible.legacy." } else { "" };
    context.run_module(&format!("{prefix}{module}"), args)
}

fn detect(context: &mut ActionContext<'_>) -> Result<String, ActionError> {
    if let Some(configured) = known_fact(context, "ansible_package_use") {
        return Ok(configured);
    }
    if let Some(known) = known_fact(context, "ansible_facts.pkg_mgr") {
        return Ok(known);
    }
    let found = gathered_fact(context, "ansible_pkg_mgr", "package action backend")?;
    found.ok_or_else(|| ActionError::failed("Could not detect a package manager. Try using the \"use\" option."))
}
