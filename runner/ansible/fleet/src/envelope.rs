//! The task that a controller sends.

use modbox_contract::args::{ArgsError, decode_file};
use modbox_contract::{Dict, Value, encode};

use crate::module_digest::{InvalidDigest, ModuleDigest};

/// Number of this contract between controller and target. It grows when a target of an older number would do something
/// else than the controller means.
///
/// 1 has a module and its arguments. 2 adds a policy, and the question for the audit line; 3 a signature. A controller writes the least number
/// that has what it sends, so that it needs no newer targets than it must.
pub const CONTRACT: i64 = 3;

/// Keys of an envelope, with the contract that added each.
const KEYS: [(&str, i64); 6] =
    [("args", 1), ("contract", 1), ("module", 1), ("audit", 2), ("policy", 2), ("signature", 3)];

/// A task: which module runs, with which arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The module.
    pub module: ModuleDigest,
    /// Its arguments, with the keys that begin with `_ansible_`.
    pub args: Dict,
    /// The text of a policy file that restricts the task further.
    pub policy: Option<String>,
    /// The text of the module's signature file.
    pub signature: Option<String>,
    /// Whether the answer has the audit line of the run in it.
    pub audit: bool,
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
        let contract = match keys.get("contract") {
            Some(Value::Int(number)) if *number > CONTRACT => return Err(EnvelopeError::Newer(*number)),
            Some(Value::Int(number)) if *number >= 1 => *number,
            _ => return Err(missing("contract", "a number of a contract")),
        };
        let is_known = |key: &str| KEYS.iter().any(|(known, since)| *known == key && *since <= contract);
        if let Some(unknown) = keys.keys().find(|key| !is_known(key)) {
            return Err(EnvelopeError::Unknown(unknown.chars().take(80).collect()));
        }
        let digest = keys.get("module").and_then(Value::as_str).ok_or_else(|| missing("module", "a digest"))?;
        let module = digest.parse().map_err(EnvelopeError::Module)?;
        let mut text = |key| match keys.shift_remove(key) {
            None => Ok(None),
            Some(Value::Str(text)) => Ok(Some(text)),
            Some(_) => Err(missing(key, "a text")),
        };
        let (policy, signature) = (text("policy")?, text("signature")?);
        let audit = match keys.get("audit") {
            None => false,
            Some(Value::Bool(audit)) => *audit,
            Some(_) => return Err(missing("audit", "true or false")),
        };
        match keys.shift_remove("args") {
            Some(Value::Dict(args)) => Ok(Self { module, args, policy, signature, audit }),
            _ => Err(missing("args", "an object")),
        }
    }
}

impl Envelope {
    /// Returns the task as one line of JSON, which [`Envelope::parse`] reads.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut keys = Dict::from_iter([
            ("contract".to_owned(), Value::Int(CONTRACT)),
            ("module".to_owned(), self.module.to_string().into()),
            ("args".to_owned(), Value::Dict(self.args.clone())),
            ("audit".to_owned(), self.audit.into()),
        ]);
        for (key, text) in [("policy", &self.policy), ("signature", &self.signature)] {
            if let Some(text) = text {
                keys.insert(key.to_owned(), text.as_str().into());
            }
        }
        encode(&Value::Dict(keys))
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
        assert_eq!((envelope.policy, envelope.audit), (None, false));
    }

    #[test]
    fn later_contracts_add_a_policy_a_question_and_a_signature() {
        let task = |contract: i64, more: &str| {
            let text = format!(r#"{{"contract": {contract}, "module": "{DIGEST}", "args": {{}}, {more}}}"#);
            Envelope::parse(text.as_bytes())
        };
        let envelope = task(2, r#""policy": "designated: none", "audit": true"#).unwrap();
        assert_eq!((envelope.policy.as_deref(), envelope.audit), (Some("designated: none"), true));
        assert_eq!(Envelope::parse(envelope.to_json().as_bytes()).unwrap(), envelope);
        for more in [r#""policy": "x""#, r#""audit": true"#] {
            assert!(task(1, more).unwrap_err().to_string().contains("unknown key"), "{more}");
        }
        let signed = task(3, r#""signature": "modbox-statement-v1""#).unwrap();
        assert_eq!(signed.signature.as_deref(), Some("modbox-statement-v1"));
        assert_eq!(Envelope::parse(signed.to_json().as_bytes()).unwrap(), signed);
        assert!(task(2, r#""signature": "x""#).unwrap_err().to_string().contains("unknown key"));
        for (more, expect) in [(r#""policy": {}"#, "`policy`"), (r#""audit": 1"#, "`audit`")] {
            assert!(task(2, more).unwrap_err().to_string().contains(expect), "{more}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parsed = |text: &str| Envelope::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(parsed("[]").contains("not a JSON object"));
        assert!(parsed("{}").contains("`contract`"));
        assert!(parsed(r#"{"contract": 4, "other": 1}"#).contains("contract 4"));
        assert!(parsed(r#"{"contract": 0}"#).contains("`contract`"));
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
