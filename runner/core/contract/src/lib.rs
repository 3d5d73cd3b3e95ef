//! Ansible's module contract as data: the arguments that a runner gives to a module, and the result that it returns.
//!
//! A module is a program. It gets one JSON object of arguments: the task's arguments, then the reserved `_ansible_*`
//! keys, with which the runner passes check mode, verbosity and the like. It prints one JSON object, its result, on
//! standard output. Its exit status counts only when that object is missing.
//! The crate `modbox-kinds` knows how the arguments reach each kind of module; the arguments are the same for all
//! kinds.
//!
//! | file | content |
//! |---|---|
//! | `args` | the arguments that a caller gives: pairs, merging, the JSON file |
//! | `internal_args` | the reserved keys: a closed, typed list |
//! | `caller` | the reserved keys that a caller may set |
//! | `run_modes` | how a caller has a module run |
//! | `release` | the supported releases of Ansible's contract |
//! | `key_values` | the `key=value` file of old-style modules |
//! | `lines` | lines as Python splits them |
//! | `stdout` | the search for the JSON object in a module's output |
//! | `warnings` | the warnings and deprecations of a result |
//! | `typed` | objects that carry `__ansible_type`, as Python modules print them |
//! | `reserved` | the keys of a result that only Ansible may use |
//! | `secrets` | the secrets that a module tells with its result |
//! | `redactor` | the masking of ansible-core 2.22 |
//! | `raw_output` | a module's output before validation |
//! | `document` | the decoding of one JSON document in the output |
//! | `fields` | rules for the fields of a result that all releases share |
//! | `current` | from raw output to a validated result or a well-formed failure, by the rules of 2.19 |
//! | `unified` | the rules of 2.21 and newer for the keys of a result |
//! | `older` | the same by the rules of releases before 2.19 |
//! | `result` | the result itself |
//! | `log_lines` | the log lines that a module writes to standard error |
//!
//! A module's output is untrusted. [`RawOutput`] holds bytes whose number the sandbox limited, and nothing more is
//! known about them. [`ModuleResult`] is the validated form: one JSON object with a correct `failed` and without
//! internal keys. Its content remains the module's claim.
//!
//! The rules are those of ansible-core 2.19 unless the caller or the controller chooses another [`Release`]. Tests check them against the
//! real program. A comment beside the code names each intended difference. This layer is pure: no I/O, no environment,
//! no clock.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod args;
pub mod caller;
pub mod internal_args;
mod internal_keys;
pub mod key_values;
mod lines;
mod redactor;
pub mod release;
mod results;
mod run_modes;
mod secrets;
mod task_file;

pub use self::results::fields::is_made_message;
pub use self::results::log_lines;
pub use self::results::raw_output::{RawOutput, ResultLines};
pub use self::results::result;
pub use self::results::result::ModuleResult;
pub use self::results::stdout;
pub use args::ModuleArgs;
pub use caller::CallerChoices;
pub use internal_args::InternalArgs;
pub use lines::split_lines;
pub use modbox_python_json::{Dict, Value, decode, encode, repr, str as python_str};
pub use redactor::{REDACTED, Redactor};
pub use release::Release;
pub use run_modes::RunModes;
pub use secrets::{GivenSecrets, NEW_SECRETS, NewSecrets};
