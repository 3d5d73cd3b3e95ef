//! The name `modbox-python`, and what the policy says of the modules that ansible-core sends to it.

use anyhow::anyhow;
use modbox_policy::{DEFAULT_SOURCE, LimitName, MergedPolicy, PythonRule};
use modbox_run::Scrutiny;

use crate::cli::exit::{ExitStatus, Failure};

/// The name under which modbox takes the place of Python.
pub(crate) const NAME: &str = "modbox-python";

/// Returns how a module is treated.
///
/// # Errors
///
/// The policy refuses the module, or asks to observe it and names no audit file for what is observed.
pub(crate) fn scrutiny(effective: &MergedPolicy) -> Result<Scrutiny, Failure> {
    let source = effective.policy.python_rule_by();
    match effective.policy.python_rule() {
        PythonRule::Confine => Ok(Scrutiny::Watched),
        PythonRule::Observe if effective.policy.audit().is_empty() => {
            let error = anyhow!(
                "{source} says `python-modules: observe`, and no policy file names an audit file for what is observed; add \
                 `audit: /var/log/modbox.jsonl`"
            );
            Err(Failure { status: ExitStatus::Usage, error })
        }
        PythonRule::Observe => Ok(Scrutiny::Observed),
        PythonRule::Refuse => {
            let error = anyhow!("{source} says `python-modules: refuse`, so {NAME} does not run this module");
            Err(Failure { status: ExitStatus::Denied, error })
        }
    }
}

/// Limits of a module's own use of the machine, with a value that no module reaches: a year, or the largest machine.
const OF_MODULES: [(LimitName, u64); 7] = [
    (LimitName::Timeout, 365 * 24 * 3_600_000_000),
    (LimitName::CpuTime, 365 * 24 * 3_600_000_000),
    (LimitName::Memory, 1 << 50),
    (LimitName::Disk, 1 << 60),
    (LimitName::Tmp, 1 << 60),
    (LimitName::Files, 1 << 40),
    (LimitName::Processes, 1 << 22),
];

/// Lifts the limits that no policy sets: a module that is observed runs as it does without modbox.
pub(crate) fn lift_defaults(effective: &mut MergedPolicy) {
    let is_default =
        |name: LimitName| effective.limits_by.iter().any(|(other, by)| *other == name && by == DEFAULT_SOURCE);
    for (name, value) in OF_MODULES.into_iter().filter(|(name, _)| is_default(*name)) {
        name.set(&mut effective.limits, value);
    }
}
