//! Python's behaviour on minijinja: values, text, filters, tests and methods as Ansible has them.
//!
//! Ansible's templates run on Python: `1 == True`, text is `str()`, a filter gets keyword arguments and raises on a wrong
//! type. This crate gives minijinja's values that behaviour. The runner's templates and the guest module `template`
//! share it.
//!
//! The crate is pure. It reads no clock, no environment and no files; see [`Host`].

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod absent;
mod call;
pub mod checks;
mod failure;
pub mod filters;
mod host;
mod install;
mod locals;
mod made;
mod methods;
mod names;
mod outside;
pub mod passwords;
mod plugin;
mod plugin_kind;
mod text;
pub mod values;
mod yaml;

pub use absent::AbsentValues;
pub use call::Call;
pub use failure::{Outcome, Unshown};
pub use host::{FileQuestion, Host, HostError, NoHost, SecretKeeper};
pub use install::add;
pub use locals::{Delimiters, changeable_locals};
pub use made::Made;
pub use methods::call_method;
pub use names::{Meaning, lookup};
pub use outside::OutsidePlugins;
pub use plugin::{Function, PREFIXES, Plugin};
pub use plugin_kind::PluginKind;
