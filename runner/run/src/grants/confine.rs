//! Turns a confinement below the required level into an error with its remedy.

use modbox_kernel::KernelConfinement;
use modbox_policy::{MinConfinement, Policy};
use modbox_vocabulary::{Capability, Denial, GrantSource, Operation};

use crate::reports::error::{RunError, Shortfall};

/// Checks that a guest is confined as far as the policy requires. `default` is the level that is required when the
/// policy names none.
///
/// # Errors
///
/// A kernel that gives less.
pub(crate) fn check_guest(reached: &KernelConfinement, policy: &Policy, default: u8) -> Result<(), RunError> {
    let asked = policy.least_confinement();
    if reached.level >= asked.map_or(default, |asked| asked.level) {
        return Ok(());
    }
    Err(guest_shortfall(reached.clone(), policy))
}

/// Returns the error of a guest that did not start because its worker would be confined too little.
pub(crate) fn guest_shortfall(reached: KernelConfinement, policy: &Policy) -> RunError {
    let asked = policy.least_confinement();
    let least = asked.map_or(modbox_kernel::DEFAULT_LEAST, |asked| asked.level);
    RunError::Unconfined(Box::new(shortfall(reached, least, asked.map(|asked| &asked.source))))
}

/// Returns the error of a native module that did not start because it would be confined too little. Without namespaces
/// there is no level below 2 for a native module, since nothing would keep it from other users' files.
pub(crate) fn native_shortfall(reached: KernelConfinement, least: u8, policy: &Policy) -> RunError {
    let level = reached.level;
    let missing = reached.missing.join("; ");
    let source = policy.least_confinement().map(|asked| &asked.source);
    let apart = level > 0 && reached.layers.iter().any(|layer| layer.is_namespace());
    let (remedy, allow) = match source {
        Some(source) if apart && level < least => {
            (format!("{source} asks for more"), format!("--min-confinement {level}"))
        }
        None if apart => {
            let allow = format!("--min-confinement {level}");
            (format!("accept it with `{allow}`, or in a policy file"), allow)
        }
        _ => ("if you trust it as yourself, run it with `--allow-all`".to_owned(), "--allow-all".to_owned()),
    };
    let message = format!(
        "the kernel confines the native module less than level {least} ({}): {missing}. What is left is level {level} \
         ({}); {remedy}",
        modbox_kernel::describe(least),
        modbox_kernel::describe(level),
    );
    let (capability, subject, operation) = (Capability::Confinement, format!("level {level}"), Operation::Start);
    let denial = Denial { capability, subject, operation, allow };
    RunError::Unconfined(Box::new(Shortfall { reached, denial, message }))
}

/// Returns the error of a module that a rule takes out of confinement while another source asks for a level: the strictest
/// restriction holds, and confined the module would do something else than the rule expects.
pub(crate) fn contradiction(policy: &Policy) -> Option<RunError> {
    let (rule, least) = policy.unconfined_by().zip(policy.least_confinement()).filter(|(_, least)| least.level > 0)?;
    let MinConfinement { level, source } = least;
    let message = format!(
        "`unconfined` ({rule}) takes the module out of confinement, and `min-confinement` ({source}) asks for level {level}, so \
         the module was not run; take one of both from the policy"
    );
    let (capability, operation) = (Capability::Confinement, Operation::Start);
    let denial = Denial { capability, subject: "level 0".to_owned(), operation, allow: String::new() };
    Some(RunError::Unconfined(Box::new(Shortfall { reached: KernelConfinement::default(), denial, message })))
}

fn shortfall(reached: KernelConfinement, least: u8, source: Option<&GrantSource>) -> Shortfall {
    let level = reached.level;
    let missing = match reached.missing.as_slice() {
        [] => "a guest's process is not confined further".to_owned(),
        missing => missing.join("; "),
    };
    let remedy = match source {
        None => format!("accept it with `--min-confinement {level}`, or in a policy file"),
        Some(source) => format!("{source} asks for more"),
    };
    let message = format!(
        "the kernel confines the module less than level {least} ({}): {missing}. What is left is level {level} ({}); {remedy}",
        modbox_kernel::describe(least),
        modbox_kernel::describe(level),
    );
    let denial = Denial {
        capability: Capability::Confinement,
        subject: format!("level {level}"),
        operation: Operation::Start,
        allow: format!("--min-confinement {level}"),
    };
    Shortfall { reached, denial, message }
}
