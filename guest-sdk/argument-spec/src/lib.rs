//! Ansible's argument specs: what options a module takes, whether given arguments fit, and the manual
//! page that follows from both.
//!
//! One pure crate, because both sides need it: the SDK validates inside the module, the runner reads the
//! same spec to show a module's manual and to learn which options designate host paths. The rules, their
//! order and their messages are those of ansible-core 2.19's `ArgumentSpecValidator`, with which
//! `tests/oracle/argument_spec/compare.py` compares this crate. What differs on purpose, each with its reason:
//!
//! - Where ansible-core crashes (a number for a dict with options, `int` of infinity), there is an ordinary error.
//! - The words of a bool's message come in one order; in Python it is random. So is whose options the error about
//!   unknown arguments lists when there are some at several levels; here it is the first level.
//! - Lone surrogates are kept in values. In messages, in secrets and in keys they are U+FFFD: Rust's text cannot hold them.
//! - A dict written as a Python literal may hold what JSON can carry. Sets, bytes, complex numbers and `...` are refused,
//!   tuples are lists, keys are text.
//! - Integers have at most 4300 digits, as many as Python itself reads.
//! - Secrets that were found before collecting them failed are kept.
//! - A spec whose names mean two things is refused by [`ArgumentSpec::parse`]. Taken as ansible-core takes it, values are shared
//!   between such names at their own level; in Python, to any depth.
//!
//! It does no I/O and reads no environment: variables for `$HOME/x` come in as a value.
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
pub use logged::Logged;
pub use mask::Secrets;
pub use metadata::{MAX_METADATA_BYTES, Metadata, SECTION_NAME};
pub use paths::{NamedPath, Origin};
pub use request::Request;
pub use spec::{
    Access, ArgumentSpec, Constraints, DeprecatedAlias, Flaw, OptionSpec, OptionType, PathOption, Removal, RequiredBy,
    RequiredIf,
};
pub use validated::{Deprecation, ErrorKind, Validated, ValidationError};
