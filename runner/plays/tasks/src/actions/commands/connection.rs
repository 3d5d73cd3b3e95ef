//! `wait_for_connection` and `reboot` on this machine: it is always there, and a play does not restart it.
//!
//! Ansible's actions for other machines are not here.

use std::time::Duration;

use modbox_python_json::{Dict, Value};

use crate::actions::context::{ActionContext, entry};
use crate::actions::error::ActionError;
use crate::scalars;

/// Waits for the delay that the task asks for; this machine answers at once.
///
/// # Errors
///
/// The task gives unknown arguments, or one that is not a whole number.
pub fn wait(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    const OPTIONS: [&str; 4] = ["connect_timeout", "delay", "sleep", "timeout"];
    let mut delay = 0;
    for option in OPTIONS {
        let Some(value) = context.args.get(option) else { continue };
        let number = scalars::whole(value).filter(|_| !value.as_str().is_some_and(|text| text.contains('.')));
        let number = number.ok_or_else(|| {
            let found = modbox_python_json::repr(value);
            ActionError::wrong(format!("invalid literal for int() with base 10: {found}"))
        })?;
        if option == "delay" {
            delay = u64::try_from(number).unwrap_or(0);
        }
    }
    if context.options.modes.check {
        return Ok(entry("skipped", true));
    }
    // After the numbers and check mode, as in Ansible.
    context.check_args(&OPTIONS)?;
    context.host.sleep(Duration::from_secs(delay));
    let mut result = entry("changed", false);
    result.extend(entry("elapsed", delay));
    Ok(result)
}

/// Refuses to restart this machine, as Ansible does with a local connection (ansible-core 2.21, `ActionModule.run` of `reboot`).
///
/// # Errors
///
/// None; the signature is that of actions.
pub fn reboot(_: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let message = "Running reboot with local connection would reboot the control node.";
    let result = [
        ("changed", Value::Bool(false)),
        ("elapsed", Value::Int(0)),
        ("rebooted", Value::Bool(false)),
        ("failed", Value::Bool(true)),
        ("msg", Value::from(message)),
    ];
    Ok(result.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
