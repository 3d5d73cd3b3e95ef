//! The arguments that a caller gives to a module: reading them, merging them, writing the JSON file.
//!
//! The reserved keys that the runner adds are in `internal_args`. Types are checked by the module's argument spec, not
//! here.

use std::borrow::Cow;

use modbox_python_json::{DecodeError, Dict, Value, decode, encode_dict};
use thiserror::Error;

use crate::internal_args::InternalArgs;
use crate::task_file;

/// The prefix of the reserved keys.
pub const RESERVED_PREFIX: &str = "_ansible_";

/// The reserved key that has a module repeat its arguments in its result, since ansible-core 2.21.
pub const INJECT_INVOCATION: &str = "_ansible_inject_invocation";

/// The reason why arguments were refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArgsError {
    /// An argument on the command line without a `=`.
    #[error("`{0}` is not KEY=VALUE; quote a value that has spaces: `line='one two'`")]
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
    /// JSON that is not a dict.
    #[error("the arguments must be a dict, not a {0}")]
    NotDict(&'static str),
}

/// Parses one `KEY=VALUE`. The value is everything after the first `=` and always a string: `n=3` is `"3"`, as in a
/// task written that way. Bytes that are not UTF-8 are kept as Python keeps them.
///
/// # Errors
///
/// No `=`, no key before it, or a key that is not UTF-8.
pub fn parse_pair(pair: &[u8]) -> Result<(String, Value), ArgsError> {
    let shown = || String::from_utf8_lossy(pair).into_owned();
    let equals = pair.iter().position(|byte| *byte == b'=').ok_or_else(|| ArgsError::NoEquals(shown()))?;
    let key = str::from_utf8(&pair[..equals]).map_err(|_| ArgsError::KeyNotText(shown()))?;
    if key.is_empty() {
        return Err(ArgsError::NoKey(shown()));
    }
    Ok((key.to_owned(), Value::from_os_bytes(&pair[equals + 1..])))
}

/// Decodes the JSON dict of an arguments file, including reserved keys.
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

/// Encodes the arguments file of the kinds that expect JSON: the bare dict, one ASCII line.
#[must_use]
pub fn encode_file(args: &Dict) -> Vec<u8> {
    encode_dict(args).into_bytes()
}

/// The arguments of a module before they are merged into one dict. Most modules need only the encoded file.
#[derive(Debug, Clone, Copy)]
pub enum ModuleArgs<'a> {
    /// All arguments, already merged.
    Complete(&'a Dict),
    /// A task's arguments and the reserved ones that the runner adds.
    Task {
        /// The caller's arguments.
        args: &'a Dict,
        /// The reserved arguments.
        internal: &'a InternalArgs,
        /// The module's temporary directory.
        tmpdir: &'a str,
    },
}

impl<'a> ModuleArgs<'a> {
    /// Returns all arguments in one dict.
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

    /// Returns the arguments file of the kinds that expect JSON, see [`encode_file`].
    #[must_use]
    pub fn to_file(&self) -> Vec<u8> {
        match *self {
            Self::Complete(args) => encode_file(args),
            Self::Task { args, internal, tmpdir } if check_not_reserved(args).is_ok() => {
                task_file::encode(args, internal, tmpdir).into_bytes()
            }
            Self::Task { .. } => encode_file(&self.to_dict()),
        }
    }
}

/// Adds arguments to others. When both have a key, the later value replaces the earlier one; nested dicts are not
/// merged.
pub fn merge(into: &mut Dict, later: Dict) {
    into.extend(later);
}

/// Refuses arguments with a reserved key. Ansible itself may send such keys; other callers may not.
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
    use crate::release::Release;

    #[test]
    fn a_file_is_that_of_the_dict() {
        let texts = ["{}", r#"{"b": {"z": [NaN], "y": "\udcff"}, "a": 1, "\u00e9": null, "Z": "\""}"#];
        let reserved = r#"{"b": 1, "_ansible_diff": 7, "a": 2}"#;
        for text in texts.into_iter().chain([reserved]) {
            let Ok(Value::Dict(args)) = decode(text) else { panic!("{text}") };
            for release in Release::ALL {
                let log = Some("info".to_owned());
                for target_log_info in [None, log] {
                    let tracebacks_for = vec!["error".to_owned()];
                    let internal =
                        InternalArgs { release, target_log_info, tracebacks_for, ..InternalArgs::new("hello") };
                    let all = ModuleArgs::Task { args: &args, internal: &internal, tmpdir: "/tmp/" };
                    assert_eq!(all.to_file(), encode_file(&all.to_dict()), "{text} {release}");
                }
            }
        }
    }

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
            (&b"a"[..], "`a` is not KEY=VALUE; quote a value that has spaces: `line='one two'`"),
            (b"", "`` is not KEY=VALUE; quote a value that has spaces: `line='one two'`"),
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
