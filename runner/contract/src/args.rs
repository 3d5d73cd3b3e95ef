//! The arguments that a caller gives to a module: reading them, merging them, writing the JSON file.
//!
//! Not here: the reserved keys that the runner adds (`internal_args`), and types, which are the
//! business of the module's argument spec.

use std::borrow::Cow;

use modbox_python_json::{DecodeError, Dict, Value, decode, encode_dict};
use thiserror::Error;

use crate::internal_args::InternalArgs;

/// What the reserved keys start with.
pub const RESERVED_PREFIX: &str = "_ansible_";

/// Why arguments were refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArgsError {
    /// An argument on the command line without a `=`.
    #[error("`{0}` is not KEY=VALUE")]
    NoEquals(String),
    /// An argument on the command line that starts with `=`.
    #[error("`{0}` has no key before the `=`")]
    NoKey(String),
    /// A key that is not text.
    #[error("the key of `{0}` is not valid UTF-8")]
    KeyNotText(String),
    /// A key that belongs to the runner.
    #[error("`{0}` is reserved: keys that start with `_ansible_` are set by the runner")]
    Reserved(String),
    /// An arguments file that is not UTF-8.
    #[error("the arguments are not valid UTF-8, from byte {0} on")]
    NotText(usize),
    /// An arguments file that is not JSON.
    #[error("the arguments are not JSON: {0}")]
    NotJson(DecodeError),
    /// JSON of another type.
    #[error("the arguments must be a dict, not a {0}")]
    NotDict(&'static str),
}

/// Reads one `KEY=VALUE`. The value is everything behind the first `=`, always a string: `n=3` is `"3"`, as
/// in a task written that way. Bytes that are not UTF-8 are kept as Python keeps them.
///
/// # Errors
///
/// No `=`, nothing before it, or a key that is not UTF-8.
pub fn parse_pair(pair: &[u8]) -> Result<(String, Value), ArgsError> {
    let shown = || String::from_utf8_lossy(pair).into_owned();
    let equals = pair.iter().position(|byte| *byte == b'=').ok_or_else(|| ArgsError::NoEquals(shown()))?;
    let key = str::from_utf8(&pair[..equals]).map_err(|_| ArgsError::KeyNotText(shown()))?;
    if key.is_empty() {
        return Err(ArgsError::NoKey(shown()));
    }
    Ok((key.to_owned(), Value::from_os_bytes(&pair[equals + 1..])))
}

/// Reads the JSON dict of an arguments file, reserved keys and all.
///
/// # Errors
///
/// Bytes that are not UTF-8, not JSON, or not a dict.
pub fn decode_file(bytes: &[u8]) -> Result<Dict, ArgsError> {
    let text = str::from_utf8(bytes).map_err(|error| ArgsError::NotText(error.valid_up_to()))?;
    match decode(text).map_err(ArgsError::NotJson)? {
        Value::Dict(args) => Ok(args),
        other => Err(ArgsError::NotDict(other.type_name())),
    }
}

/// Writes the arguments file of the kinds that want JSON: the bare dict, one ASCII line.
#[must_use]
pub fn encode_file(args: &Dict) -> Vec<u8> {
    encode_dict(args).into_bytes()
}

/// Arguments as a module is to get them, not yet put together: most modules need no more than the file of them.
#[derive(Debug, Clone, Copy)]
pub enum ModuleArgs<'a> {
    /// All of them.
    Complete(&'a Dict),
    /// A task's own, and what is added to them.
    Task {
        /// What the caller gave.
        args: &'a Dict,
        /// What the module is told beside it.
        internal: &'a InternalArgs,
        /// The module's temporary directory.
        tmpdir: &'a str,
    },
}

impl<'a> ModuleArgs<'a> {
    /// Returns them in one dict.
    #[must_use]
    pub fn to_dict(&self) -> Cow<'a, Dict> {
        match *self {
            Self::Complete(args) => Cow::Borrowed(args),
            Self::Task { args, internal, tmpdir } => {
                let internal = InternalArgs { tmpdir: Some(tmpdir.to_owned()), ..internal.clone() };
                Cow::Owned(internal.append_to(args.clone()))
            }
        }
    }

    /// Returns the arguments file of the kinds that want JSON, see [`encode_file`].
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        match *self {
            Self::Complete(args) => encode_file(args),
            Self::Task { .. } => encode_file(&self.to_dict()),
        }
    }
}

/// Adds arguments to others: a key that both have takes the later value whole, dicts inside are not merged.
pub fn merge(into: &mut Dict, later: Dict) {
    into.extend(later);
}

/// Refuses arguments that hold a reserved key, for callers that are not Ansible itself.
///
/// # Errors
///
/// The first key that starts with [`RESERVED_PREFIX`].
pub fn check_not_reserved(args: &Dict) -> Result<(), ArgsError> {
    match args.keys().find(|key| key.starts_with(RESERVED_PREFIX)) {
        Some(key) => Err(ArgsError::Reserved(key.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pairs() {
        for (pair, key, value) in [
            (&b"a=1"[..], "a", Value::from("1")),
            (b"a=", "a", Value::from("")),
            (b"a=b=c", "a", Value::from("b=c")),
            (b"a b= c ", "a b", Value::from(" c ")),
            ("größe=ß".as_bytes(), "größe", Value::from("ß")),
            (b"p=/\xff", "p", Value::from_os_bytes(b"/\xff")),
        ] {
            assert_eq!(parse_pair(pair), Ok((key.to_owned(), value)));
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_pair() {
        for (pair, expect) in [
            (&b"a"[..], "`a` is not KEY=VALUE"),
            (b"", "`` is not KEY=VALUE"),
            (b"=1", "`=1` has no key before the `=`"),
            (b"\xff=1", "the key of `\u{fffd}=1` is not valid UTF-8"),
        ] {
            assert_eq!(parse_pair(pair).unwrap_err().to_string(), expect);
        }
    }

    #[test]
    fn later_wins_and_keeps_its_place() {
        let mut args = decode_file(br#"{"a": {"x": 1}, "b": 2}"#).unwrap();
        merge(&mut args, decode_file(br#"{"a": {"y": 1}, "c": "\u00e9"}"#).unwrap());
        assert_eq!(encode_file(&args), br#"{"a": {"y": 1}, "b": 2, "c": "\u00e9"}"#);
    }

    #[test]
    fn says_what_is_wrong_with_a_file() {
        for (bytes, expect) in [
            (&b"[]"[..], "the arguments must be a dict, not a list"),
            (
                b"{",
                "the arguments are not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            ),
            (b"{}\xff", "the arguments are not valid UTF-8, from byte 2 on"),
        ] {
            assert_eq!(decode_file(bytes).unwrap_err().to_string(), expect);
        }
    }

    #[test]
    fn keeps_reserved_keys_for_the_runner() {
        let args = decode_file(br#"{"a": 1, "_ansible_check_mode": true}"#).unwrap();
        assert_eq!(
            check_not_reserved(&args).unwrap_err().to_string(),
            "`_ansible_check_mode` is reserved: keys that start with `_ansible_` are set by the runner"
        );
        assert_eq!(check_not_reserved(&decode_file(br#"{"_ansible": 1}"#).unwrap()), Ok(()));
    }
}
