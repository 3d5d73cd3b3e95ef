//! For authors of modules: makes a component from a guest crate or from a project in another language, and makes new
//! guest crates. For runs of Python modules: makes the interpreter of the sandbox from the user's ansible-core.
//!
//! ```text
//! new_project ──> NAME/ ──> build ──> NAME/target/modbox/NAME.wasm
//!                              ^
//!             find_fresh ──────┘ when something changed
//! ```
//!
//! The SDK that projects use is part of this crate, as source; see `sdk`.
//!
//! This layer runs the author's own tools, cargo and rustup, with the author's own authority. It is the one part of
//! modbox that confines nothing, because compiling a crate always runs its build scripts. Therefore it only takes
//! directories that the author named, and the rest of modbox trusts its output as little as any other file.
//!
//! Nothing here prints or reads the environment: both come in with the [`AuthoringContext`].

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bounded_file;
mod cargo;
mod cases;
mod context;
mod environment;
mod error;
mod inspection;
mod interpreter;
mod languages;
mod module;
mod name;
mod output;
mod process;
mod program_search;
mod project;
mod sdk;
mod stamp;
mod standard;
mod temporary_folder;
mod tool_search;
mod watch;

pub use self::cargo::build::{build, build_if_stale, find_fresh};
pub use self::cargo::shared_output::clear_shared_output;
pub use cases::{CaseError, CaseOutcome, run_cases};
pub use context::AuthoringContext;
pub use error::{BuildError, NewError, TargetMissing};
pub use inspection::{LanguageTools, inspect_tools};
pub use interpreter::{
    COMPONENTIZE_VERSION, CollectionFolder, Componentize, InterpreterError, InterpreterSources, build_interpreter,
    build_plugins,
};
pub use languages::PROJECT_FILES;
pub use module::{BuildOptions, BuiltModule};
pub use project::{NewOptions, ProjectLanguage, new_project};
pub use sdk::SdkError;
pub use standard::{
    build_standard, build_standard_if_stale, find_standard, is_standard, standard_description, standard_names,
};
pub use tool_search::MissingTools;
pub use watch::SourceState;
