//! The switches of `modbox build`, `modbox test` and `modbox new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::help::{BUILD_HELP, NEW_HELP, TEST_HELP};

#[derive(Debug, Args)]
#[command(after_help = BUILD_HELP)]
pub(crate) struct BuildArgs {
    /// Directories of projects (a Rust crate, or C, Go, Python or JavaScript), or names of modbox's own modules.
    #[arg(value_name = "DIR|NAME", default_value = ".")]
    pub(crate) modules: Vec<PathBuf>,
    /// Build all of modbox's own modules.
    #[arg(long, conflicts_with_all = ["modules", "bin"])]
    pub(crate) all: bool,
    /// Binary to build, if the crate has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Option<String>,
    /// Also write the form that Ansible runs into this folder: `NAME.wasm` with a `#!` line, and `NAME.yml` for
    /// ansible-doc.
    #[arg(long, value_name = "DIR")]
    pub(crate) ansible: Option<PathBuf>,
    /// Path of modbox on the target, for the `#!` line [default: this program].
    #[arg(long, value_name = "PATH", requires = "ansible")]
    pub(crate) interpreter: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = TEST_HELP)]
pub(crate) struct TestArgs {
    /// The project's directory, or a component that is built.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) module: PathBuf,
    /// Directory of the cases [default: `cases` in the project, or here].
    #[arg(long, value_name = "DIR")]
    pub(crate) cases: Option<PathBuf>,
    /// Binary to build, if the crate has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) bin: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = NEW_HELP)]
pub(crate) struct NewArgs {
    /// The name of the module and of its directory, which must be new or empty: lower-case letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// Language of the module.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) language: ProjectLanguage,
    /// Use the SDK from this directory. For Rust.
    #[arg(long, value_name = "DIR")]
    pub(crate) sdk: Option<PathBuf>,
}

/// Language of a new project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProjectLanguage {
    #[default]
    Rust,
    C,
    Go,
    Python,
    #[value(name = "javascript")]
    JavaScript,
}
