//! Variables of hosts that set settings of ansible-core, and what modbox does with each. What it does with the same setting in a
//! variable of the environment or in `ansible.cfg` can differ; the table of settings has that.

use super::setting::Status::{self, Honoured, NoMeaning, Told};

/// What is said of variables about logs.
const NO_LOG: &str = "modules write to no log";

/// All variables of the table of settings, in alphabetical order.
pub static VARIABLES: &[(&str, Status)] = &[
    ("_ansible_ansiballz_coverage_config", NoMeaning),
    ("_ansible_ansiballz_debugpy_config", NoMeaning),
    ("_ansible_ansiballz_pydevd_config", NoMeaning),
    ("_ansible_coverage_remote_output", NoMeaning),
    ("_z_test_entry", NoMeaning),
    ("ansible_deprecation_warnings", Honoured),
    ("ansible_facts_modules", Honoured),
    ("ansible_inject_invocation", Honoured),
    ("ansible_interpreter_python_fallback", NoMeaning),
    ("ansible_module_compression", NoMeaning),
    ("ansible_no_target_syslog", Told(NO_LOG)),
    ("ansible_python_interpreter", Honoured),
    ("ansible_python_module_rlimit_nofile", Honoured),
    ("ansible_target_log_info", Told(NO_LOG)),
    ("ansible_win_async_startup_timeout", NoMeaning),
    ("ansible_worker_session_isolation", NoMeaning),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::settings::ALL;

    #[test]
    fn the_variables_are_those_of_the_settings() {
        assert!(VARIABLES.is_sorted_by_key(|(name, _)| name));
        let known: BTreeSet<&str> = ALL.iter().flat_map(|setting| setting.variables.iter().copied()).collect();
        let told: BTreeSet<&str> = VARIABLES.iter().map(|(name, _)| *name).collect();
        assert_eq!(told, known);
    }
}
