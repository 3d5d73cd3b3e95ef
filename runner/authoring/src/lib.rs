//! For those who write modules: makes a guest crate, or a project in another language, into a component, and makes new guest
//! crates.
//!
//! ```text
//! new_project ──> NAME/ ──> build ──> NAME/target/modbox/NAME.wasm
//!                              ^
//!             find_fresh ──────┘ when something changed
//! ```
//!
//! This layer runs the author's own tools, cargo and rustup, with the author's own authority: it is the one
//! part of modbox that confines nothing, because compiling a crate runs its build scripts whatever one does. It
//! therefore takes only directories that the author named, and what comes out is a file that the rest of modbox
//! trusts as little as any other.
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
