//! Ansible's argument specs: the options of a module, the validation of arguments, and the manual page.
//!
//! One pure crate for both sides: the SDK validates inside the module; the runner reads the same spec to show a
//! module's manual and to find the options that designate host paths. Rules, order and messages are those of
//! ansible-core 2.19's `ArgumentSpecValidator`, and `tests/oracle/argument_spec/compare.py` compares both. These
//! differences are intended:
//!
//! - Where ansible-core crashes (a number for a dict with options, `int` of infinity), this crate returns an ordinary
//!   error.
//! - The words in the message about a bool have a fixed order; in Python, the order is random. The error about unknown
//!   arguments at several levels lists the options of the first level; in Python, those of a random one.
//! - Values keep lone surrogates. Messages, secrets and keys have U+FFFD instead, since Rust's text cannot hold them.
//! - A dict written as a Python literal may hold only what JSON can hold. Sets, bytes, complex numbers and `...` are
//!   refused, tuples become lists, keys become text.
//! - Integers have at most 4300 digits, the limit of Python.
//! - If the collection of secrets fails, the secrets found so far are kept.
//! - [`ArgumentSpec::parse`] refuses a spec in which a name has two meanings. When the spec is read as ansible-core
//!   reads it, such names share values at their own level; in Python, they share them to any depth.
//!
//! The crate does no I/O and reads no environment: variables for `$HOME/x` are passed as a value.
//!
//! ```
//! use modbox_argument_spec::{ArgumentSpec, NoEnvironment};
//! use modbox_python_json::{Value, decode};
//!
//! let spec = ArgumentSpec::parse(&decode(r#"{"state": {"choices": ["present", "absent"]}}"#)?)?;
//! let args = decode(r#"{"state": "gone"}"#)?;
//! let validated = spec.validate(args.as_dict().unwrap(), &NoEnvironment);
//! assert_eq!(
//!     validated.errors[0].message,
//!     "value of state must be one of: present, absent, got: gone"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod big;
mod constraints;
mod convert;
mod dict_text;
mod environment;
mod equality;
mod error;
mod escapes;
mod exchange;
mod literal;
mod literal_text;
mod logged;
mod lone;
mod manual;
mod mask;
mod metadata;
mod no_log;
mod number;
mod parse;
mod parse_rules;
mod parse_values;
mod paths;
mod request;
mod run;
mod self_check;
mod shared;
mod size;
mod spec;
mod steps;
mod validate;
mod validated;
mod values;

pub use convert::bool_of;
pub use environment::{Environment, NoEnvironment, expand_path};
pub use equality::python_eq;
pub use error::SpecError;
pub use exchange::Question;
pub use literal::parse_literal;
pub use logged::Logged;
pub use manual::ManualLine;
pub use mask::{PLACEHOLDER, Secrets};
pub use metadata::{MAX_METADATA_BYTES, Metadata, SECTION_NAME};
pub use paths::{NamedPath, Origin};
pub use request::Request;
pub use spec::{
    Access, ArgumentSpec, Constraints, DeprecatedAlias, Flaw, OptionSpec, OptionType, PathOption, Removal, RequiredBy,
    RequiredIf,
};
pub use validated::{Deprecation, ErrorKind, Validated, ValidationError};
