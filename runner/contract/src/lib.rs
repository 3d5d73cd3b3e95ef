//! What crosses the boundary between a runner and a module: Ansible's module contract, as data.
//!
//! A module is a program. It is given one JSON object of arguments: the task's own, then the reserved
//! `_ansible_*` keys by which the runner tells it about check mode, verbosity and the like. It prints one
//! JSON object, its result, on standard output; its exit status counts only when that object is missing.
//! How the arguments reach the program differs by kind (see the crate `modbox-kinds`); what they are does not.
//!
//! | file | what it knows |
//! |---|---|
//! | `args` | the arguments a caller gave: pairs, merging, the JSON file |
//! | `internal_args` | the reserved keys: a closed, typed list |
//! | `told` | which of them a caller may choose, and how |
//! | `release` | the releases of Ansible whose contract can be kept |
//! | `key_values` | the `key=value` file of old-style modules |
//! | `stdout` | finding the JSON object in what a module printed |
//! | `warnings` | the warnings and deprecations of a result |
//! | `typed` | objects that carry `__ansible_type`, as Python modules print them |
//! | `reserved` | the keys of a result that only Ansible may use |
//! | `raw_output` | what a module printed, of which nothing is believed yet |
//! | `document` | one JSON document out of it |
//! | `fields` | rules for the fields of a result that all releases share |
//! | `current` | from raw output to a validated result, or to a well-formed failure |
//! | `result` | the result itself |
//! | `log_lines` | what a module says of its work, on standard error |
//! | `older` | the same by the rules of releases before 2.19 |
//!
//! Nothing that a module prints is trusted. [`RawOutput`] is an allegation: bytes under a bound that the
//! sandbox enforced, and nothing more. [`ModuleResult`] is what is left when the contract's rules have
//! been applied to it: one JSON object with a truthful `failed`, without internal keys. What the object
//! *says* stays the module's claim.
//!
//! The rules are those of ansible-core 2.19 unless another [`Release`] is asked for, checked against the real program; where we differ on purpose
//! it says so beside the code. This layer is pure: no I/O, no environment, no clock.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod args;
mod current;
mod document;
mod fields;
pub mod internal_args;
pub mod key_values;
pub mod log_lines;
mod missing;
mod older;
mod raw_output;
pub mod release;
mod reserved;
pub mod result;
pub mod stdout;
pub mod told;
mod typed;
mod warnings;

pub use args::ModuleArgs;
pub use internal_args::InternalArgs;
pub use modbox_python_json::{Dict, Value, decode, encode, repr, str as python_str};
pub use raw_output::{RawOutput, ResultLines};
pub use release::Release;
pub use result::ModuleResult;
pub use told::Told;
