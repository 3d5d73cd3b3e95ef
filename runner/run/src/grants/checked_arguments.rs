//! Checks the arguments of a module by its own spec before the module starts.
//!
//! Modules that are written with the SDK check their arguments themselves. For those in other languages, `modbox build` asks
//! for the check in the component's metadata. It refuses arguments and changes none: the module gets what was given.

use modbox_argument_spec::{ErrorKind, Metadata, NoEnvironment, Secrets};
use modbox_contract::{Dict, Value};

use crate::request::run_request::Arguments;

/// Prefix of the internal arguments of a controller.
const INTERNAL: &str = "_ansible_";

/// Says that options outside of the spec are to be let through (ansible-core 2.19, `PASS_BOOLS`).
const IGNORE_UNKNOWN: &str = "_ansible_ignore_unknown_opts";

/// Returns Ansible's message about the first mistake in the arguments of the module `name`. `None` if there is none, or if the
/// module does not ask for the check. Secrets of the arguments are masked.
pub(crate) fn mistake(metadata: &Metadata, name: &str, arguments: &Arguments) -> Option<String> {
    if !metadata.validate_arguments {
        return None;
    }
    let given = arguments.given();
    let own = given.iter().filter(|(key, _)| !key.starts_with(INTERNAL));
    let own: Dict = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    let validated = metadata.argument_spec.validate(&own, &NoEnvironment);
    let ignores_unknown = match arguments {
        Arguments::Task { internal, .. } => internal.ignore_unknown_opts,
        Arguments::Complete(given) => given.get(IGNORE_UNKNOWN) == Some(&Value::Bool(true)),
    };
    let counts = |kind: ErrorKind| kind != ErrorKind::Unsupported || !ignores_unknown;
    let error = validated.errors.iter().find(|error| counts(error.kind))?;
    let message = Secrets::from(&validated).mask_text(&error.message);
    Some(match error.kind {
        ErrorKind::Unsupported => format!("Unsupported parameters for ({name}) module: {message}"),
        _ => message.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use modbox_contract::decode;

    use super::*;

    #[track_caller]
    fn check(validates: bool, given: &str, expect: Option<&str>) {
        let metadata = format!(
            r#"{{"name": "greet", "validate_arguments": {validates}, "argument_spec": {{"n": {{"type": "int"}},
             "state": {{"choices": ["on", "off"]}}, "key": {{"no_log": true}}}}}}"#
        );
        let Ok(Value::Dict(given)) = decode(given) else { panic!("`{given}` is a dict") };
        let metadata = Metadata::from_json(&metadata).unwrap();
        assert_eq!(mistake(&metadata, "greet", &Arguments::Complete(given)).as_deref(), expect);
    }

    #[test]
    fn the_first_mistake_is_told_as_ansible_does() {
        check(true, r#"{"n": "4", "state": "on", "_ansible_diff": true}"#, None);
        let unknown = "Unsupported parameters for (greet) module: kye. Supported parameters include: key, n, state.";
        check(true, r#"{"kye": "4"}"#, Some(unknown));
        check(true, r#"{"state": "zzz"}"#, Some("value of state must be one of: on, off, got: zzz"));
        check(true, r#"{"kye": "4", "_ansible_ignore_unknown_opts": true}"#, None);
    }

    #[test]
    fn modules_that_check_for_themselves_are_left_alone() {
        check(false, r#"{"kye": "4", "state": "zzz"}"#, None);
    }
}
