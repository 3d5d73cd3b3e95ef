//! Prepares new-style Python modules: finds the interpreter and ansible-core, assembles the payload, and caches all of
//! that for the next run.
//!
//! By default a payload is laid out once in the cache, compiled, and imported from there; a later run then only has to
//! check each file that the payload was made of. Where nothing can be cached, and with [`PayloadForm::Zip`], the
//! payload is passed as Ansible sends it: one script on the interpreter's standard input.

mod answers;
mod ask;
mod assembler;
mod assembly;
mod cache;
mod call;
mod config;
mod contents;
mod context;
mod controller;
mod disk;
mod error;
mod folders;
mod guest;
mod install;
mod interpreter;
mod interpreters;
mod parser_stack;
mod shim;
mod survey;

pub use self::answers::probes::Probes;
pub use self::answers::routings::Routings;
pub(crate) use self::assembler::{Assembler, PreparedModule};
pub(crate) use self::assembly::KnownAssembly;
pub use self::cache::clear_cache;
pub(crate) use self::call::{SourceSpec, read_own_options, read_spec};
pub use self::config::{CollectionPaths, KnownPackages, PayloadForm, PythonConfig};
pub use self::contents::InterpreterContents;
pub(crate) use self::context::ModuleSource;
pub use self::controller::ControllerPackages;
pub(crate) use self::controller::minor_version;
pub(crate) use self::disk::{MAX_ROUTING, read_bounded};
pub use self::error::PythonError;
pub use self::folders::find_collection;
pub(crate) use self::folders::{ansible_package, collection_folders, controllers};
pub(crate) use self::guest::{
    GuestChoice, GuestModule, SandboxLine, Verdict, host_facts, read_code, remember_need, take_sandbox_line,
};
pub use self::interpreters::{
    InstalledInterpreter, InterpreterCollection, InterpreterFacts, Interpreters, PLUGINS, PluginsFacts,
};
pub use self::survey::{PythonSurvey, controller_packages, installed_core, usual_python};
