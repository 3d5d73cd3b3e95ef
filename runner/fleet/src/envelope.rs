//! The task that a controller sends.

use modbox_contract::args::{ArgsError, decode_file};
use modbox_contract::{Dict, Value};

use crate::module_digest::{InvalidDigest, ModuleDigest};

/// Number of this contract between controller and target. It grows when a target of an older number would do something
/// else than the controller means.
pub const CONTRACT: i64 = 1;

/// Keys of an envelope.
const KEYS: [&str; 3] = ["args", "contract", "module"];

/// A task: which module runs, with which arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The module.
    pub module: ModuleDigest,
    /// Its arguments, with the keys that begin with `_ansible_`.
    pub args: Dict,
}

/// Error of an invalid task.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EnvelopeError {
    /// Not a JSON object.
    #[error("the task is not a JSON object: {0}")]
    NotObject(#[source] ArgsError),
    /// A later contract.
    #[error("the task is of contract {0}, and this modbox knows contract {CONTRACT}; a newer modbox runs it")]
    Newer(i64),
    /// A key that is missing or is of another type.
    #[error("the task has no `{key}`, or it is not {expected}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// A key that this contract does not have.
    #[error("the task has the unknown key `{0}`")]
    Unknown(String),
    /// Not the digest of a module.
    #[error("the task names no module")]
    Module(#[source] InvalidDigest),
}

impl Envelope {
    /// Reads a task.
    ///
    /// # Errors
    ///
    /// Something is missing, unknown or of a later contract.
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let mut keys = decode_file(bytes).map_err(EnvelopeError::NotObject)?;
        let missing = |key, expected| EnvelopeError::Missing { key, expected };
        match keys.get("contract") {
            Some(Value::Int(number)) if *number > CONTRACT => return Err(EnvelopeError::Newer(*number)),
            Some(Value::Int(number)) if *number == CONTRACT => {}
            _ => return Err(missing("contract", "a number of a contract")),
        }
        if let Some(unknown) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(EnvelopeError::Unknown(unknown.chars().take(80).collect()));
        }
        let digest = keys.get("module").and_then(Value::as_str).ok_or_else(|| missing("module", "a digest"))?;
        let module = digest.parse().map_err(EnvelopeError::Module)?;
        match keys.shift_remove("args") {
            Some(Value::Dict(args)) => Ok(Self { module, args }),
            _ => Err(missing("args", "an object")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_task_has_a_module_and_arguments() {
        let text = format!(
            r#"{{"contract": 1, "module": "{DIGEST}", "args": {{"path": "/x", "_ansible_check_mode": true}}}}"#
        );
        let envelope = Envelope::parse(text.as_bytes()).unwrap();
        assert_eq!(envelope.module, ModuleDigest::of(b""));
        assert_eq!(envelope.args.get("path"), Some(&Value::from("/x")));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parsed = |text: &str| Envelope::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(parsed("[]").contains("not a JSON object"));
        assert!(parsed("{}").contains("`contract`"));
        assert!(parsed(r#"{"contract": 2, "other": 1}"#).contains("contract 2"));
        assert!(parsed(r#"{"contract": true}"#).contains("`contract`"));
        assert!(parsed(r#"{"contract": 1, "args": {}}"#).contains("`module`"));
        assert!(parsed(r#"{"contract": 1, "module": "x", "args": {}}"#).contains("names no module"));
        assert!(parsed(&format!(r#"{{"contract": 1, "module": "{DIGEST}"}}"#)).contains("`args`"));
        assert!(
            parsed(&format!(r#"{{"contract": 1, "module": "{DIGEST}", "args": {{}}, "allow": 1}}"#))
                .contains("`allow`")
        );
    }
}
