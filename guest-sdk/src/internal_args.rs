//! Ansible's internal arguments: the reserved `_ansible_*` keys beside a module's own.
//!
//! A newer Ansible may send keys that this crate does not know; they are dropped, not refused.

use modbox_argument_spec::bool_of;
use modbox_python_json::{Dict, Value};

const PREFIX: &str = "_ansible_";

/// What the caller says about the run, beside the module's own arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InternalArgs {
    /// Nothing may be changed; the module reports what it would change.
    pub check_mode: bool,
    /// The caller wants to see differences.
    pub diff: bool,
    /// Nothing about the arguments may be logged.
    pub no_log: bool,
    /// Debug output is wanted.
    pub debug: bool,
    /// Unknown arguments are no error.
    pub ignore_unknown_opts: bool,
    /// How much the caller wants to know: the number of `-v`.
    pub verbosity: i64,
    /// The name under which the module was called.
    pub module_name: Option<String>,
    /// A folder for temporary files.
    pub tmpdir: Option<String>,
    /// The version of what calls the module.
    pub version: Option<String>,
}

impl InternalArgs {
    /// Takes the internal arguments out of all arguments.
    ///
    /// # Errors
    ///
    /// A value that is no bool where one has to be, in Ansible's words.
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
            _ => {}
        }
        Ok(())
    }
}

/// A bool as an option of type `bool` reads it; null is false.
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
