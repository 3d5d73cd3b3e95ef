//! Ansible's internal arguments: the reserved `_ansible_*` keys among a module's arguments.
//!
//! Keys that this crate does not know are ignored: a newer Ansible may send more.

use modbox_argument_spec::bool_of;
use modbox_python_json::{Dict, Value};

const PREFIX: &str = "_ansible_";

/// The caller's settings for the run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InternalArgs {
    /// The module must not change anything, and reports what it would change.
    pub check_mode: bool,
    /// The caller wants to see differences.
    pub diff: bool,
    /// Arguments must not be logged.
    pub no_log: bool,
    /// Debug output is wanted.
    pub debug: bool,
    /// Unknown arguments are accepted.
    pub ignore_unknown_opts: bool,
    /// The verbosity: the number of `-v`.
    pub verbosity: i64,
    /// The name of the module in the call.
    pub module_name: Option<String>,
    /// A folder for temporary files.
    pub tmpdir: Option<String>,
    /// The version of the caller.
    pub version: Option<String>,
    /// Whether the result repeats the arguments; not said by callers before ansible-core 2.21, whose results always do.
    pub inject_invocation: Option<bool>,
}

impl InternalArgs {
    /// Removes the internal arguments from all arguments, and returns them.
    ///
    /// # Errors
    ///
    /// A value is not a bool where one is required; the message is Ansible's.
    pub fn take(arguments: &mut Dict) -> Result<Self, String> {
        let mut internal = Self::default();
        let mut first_error = None;
        arguments.retain(|key, value| {
            let Some(key) = key.strip_prefix(PREFIX) else { return true };
            if let Err(error) = internal.set(key, std::mem::take(value)) {
                first_error.get_or_insert(error);
            }
            false
        });
        first_error.map_or(Ok(internal), Err)
    }

    fn set(&mut self, key: &str, value: Value) -> Result<(), String> {
        match key {
            "check_mode" => self.check_mode = truth(value)?,
            "diff" => self.diff = truth(value)?,
            "no_log" => self.no_log = truth(value)?,
            "debug" => self.debug = truth(value)?,
            "ignore_unknown_opts" => self.ignore_unknown_opts = truth(value)?,
            "verbosity" => self.verbosity = value.as_int().unwrap_or(0),
            "module_name" => self.module_name = value.as_str().map(str::to_owned),
            "tmpdir" => self.tmpdir = value.as_str().map(str::to_owned),
            "version" => self.version = value.as_str().map(str::to_owned),
            "inject_invocation" => self.inject_invocation = Some(truth(value)?),
            _ => {}
        }
        Ok(())
    }
}

/// Converts a value as an option of type `bool` does; null is false.
fn truth(value: Value) -> Result<bool, String> {
    if value == Value::Null { Ok(false) } else { bool_of(&value) }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[track_caller]
    fn take(json: &str) -> (Dict, Result<InternalArgs, String>) {
        let mut arguments = decode(json).unwrap().as_dict().unwrap().clone();
        let internal = InternalArgs::take(&mut arguments);
        (arguments, internal)
    }

    #[test]
    fn leaves_only_the_modules_own() {
        let (own, internal) =
            take(r#"{"_ansible_check_mode": "yes", "a": 1, "_ansible_new_thing": [], "_ansible_verbosity": 2}"#);
        assert_eq!(own.keys().collect::<Vec<_>>(), ["a"]);
        let internal = internal.unwrap();
        assert!(internal.check_mode && !internal.diff);
        assert_eq!(internal.verbosity, 2);
    }

    #[test]
    fn refuses_bad_bools() {
        let (_, internal) = take(r#"{"_ansible_check_mode": "zz"}"#);
        assert!(internal.unwrap_err().starts_with("The value 'zz' is not a valid boolean. Valid booleans include: "));
        let (_, internal) = take(r#"{"_ansible_diff": null}"#);
        assert!(!internal.unwrap().diff);
    }
}
