//! For authors of modules: makes a component from a guest crate or from a project in another language, and makes new
//! guest crates.
//!
//! ```text
//! new_project ──> NAME/ ──> build ──> NAME/target/modbox/NAME.wasm
//!                              ^
//!             find_fresh ──────┘ when something changed
//! ```
//!
//! This layer runs the author's own tools, cargo and rustup, with the author's own authority. It is the one part of
//! modbox that confines nothing, because compiling a crate always runs its build scripts. Therefore it only takes
//! directories that the author named, and the rest of modbox trusts its output as little as any other file.
//!
//! Nothing here prints or reads the environment: both come in with the [`AuthoringContext`].

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod build;
mod context;
mod dep_info;
mod environment;
mod error;
mod languages;
mod messages;
mod module;
mod name;
mod output;
mod package;
mod process;
mod project;
mod stamp;
mod toolchain;

pub use build::{build, build_if_stale, find_fresh};
pub use context::AuthoringContext;
pub use error::{BuildError, NewError, TargetMissing};
pub use languages::PROJECT_FILES;
pub use module::{BuildOptions, BuiltModule};
pub use project::{NewOptions, new_project};
