//! Variables of the environment that configure Ansible: those that are honoured, and those that would change what a
//! play means and are not, which are told.

use crate::cli::environment::Environment;

/// Variables that are not honoured, with what they would change.
const IGNORED: [(&str, &str); 22] = [
    ("ANSIBLE_ACTION_PLUGINS", "actions in Python are not run"),
    ("ANSIBLE_ACTION_WARNINGS", "warnings of actions are always shown"),
    ("ANSIBLE_ALLOW_BROKEN_CONDITIONALS", "conditions must be booleans"),
    ("ANSIBLE_ANY_ERRORS_FATAL", "write `any_errors_fatal` into the play"),
    ("ANSIBLE_BECOME_EXE", "modbox becomes a user by itself"),
    ("ANSIBLE_CACHE_PLUGIN", "facts are not kept between runs"),
    ("ANSIBLE_CALLBACK_PLUGINS", "callbacks in Python are not run; use `--output`"),
    ("ANSIBLE_CALLBACKS_ENABLED", "callbacks in Python are not run; use `--output`"),
    ("ANSIBLE_CONNECTION_PLUGINS", "modbox connects to no host"),
    ("ANSIBLE_ENABLE_TASK_DEBUGGER", "modbox has no task debugger"),
    ("ANSIBLE_FILTER_PLUGINS", "filters in Python are not run"),
    ("ANSIBLE_HASH_BEHAVIOUR", "a variable hides another one as a whole; use the filter `combine`"),
    ("ANSIBLE_JINJA2_EXTENSIONS", "extensions of Jinja in Python are not run"),
    ("ANSIBLE_LOOKUP_PLUGINS", "lookups in Python are not run"),
    ("ANSIBLE_NO_TARGET_SYSLOG", "modules write to no log"),
    ("ANSIBLE_STDOUT_CALLBACK", "callbacks in Python are not run; use `--output`"),
    ("ANSIBLE_STRATEGY_PLUGINS", "strategies in Python are not run"),
    ("ANSIBLE_TASK_DEBUGGER", "modbox has no task debugger"),
    ("ANSIBLE_TEST_PLUGINS", "tests in Python are not run"),
    ("ANSIBLE_VARS_PLUGINS", "plugins of variables in Python are not run"),
    ("ANSIBLE_VAULT_IDENTITY_LIST", "encrypted variables are not supported"),
    ("ANSIBLE_VAULT_PASSWORD_FILE", "encrypted variables are not supported"),
];

/// Returns a warning for each variable that is set and not honoured.
pub(crate) fn warnings(environment: &Environment) -> Vec<String> {
    let is_set = |name: &str| environment.variable(name).is_some_and(|value| !value.is_empty());
    let found = IGNORED.iter().filter(|(name, _)| is_set(name));
    found.map(|(name, reason)| format!("the variable `{name}` makes no difference: {reason}")).collect()
}

/// Returns a boolean of a variable; `None` if it is not set.
///
/// # Errors
///
/// The value is not a boolean.
pub(crate) fn flag(environment: &Environment, name: &str) -> anyhow::Result<Option<bool>> {
    let value = environment.variable(name).and_then(|value| value.to_str()).unwrap_or_default();
    match value.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "1" | "true" | "yes" | "on" | "y" | "t" => Ok(Some(true)),
        "0" | "false" | "no" | "off" | "n" | "f" => Ok(Some(false)),
        _ => anyhow::bail!("failed to read the variable `{name}`: `{value}` is not a boolean; use `true` or `false`"),
    }
}

/// Returns the items of a variable that is a list with commas.
pub(crate) fn list(environment: &Environment, name: &str) -> Vec<String> {
    let value = environment.variable(name).and_then(|value| value.to_str()).unwrap_or_default();
    value.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Says whether facts are gathered only by plays that ask for it.
///
/// # Errors
///
/// The value is unknown.
pub(crate) fn gathers_explicitly(environment: &Environment) -> anyhow::Result<bool> {
    let value = environment.variable("ANSIBLE_GATHERING").and_then(|value| value.to_str()).unwrap_or_default();
    match value {
        "explicit" => Ok(true),
        // `smart` keeps the facts of earlier plays; to gather them again gives the same.
        "" | "implicit" | "smart" => Ok(false),
        _ => anyhow::bail!(
            "failed to read the variable `ANSIBLE_GATHERING`: unknown value `{value}`; use `implicit`, `explicit` or `smart`"
        ),
    }
}
