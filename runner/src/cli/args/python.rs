//! The switches for Python modules, as typed: those that `run` and `batch` share, and those of `assemble`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::args::lookup::{LookupArgs, parse_interpreter};

/// How Python modules are put together.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Python modules")]
pub(crate) struct PythonArgs {
    /// Look what modules import up here first: a folder like `ansible/module_utils`, or with `ansible_collections` in
    /// it. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) module_utils: Vec<PathBuf>,
    /// How they reach the interpreter: laid out and compiled in the cache, or as one script with a zip in it.
    #[arg(long, value_enum, value_name = "FORM", default_value = "cached")]
    pub(crate) ansiballz: AnsiballzForm,
}

/// How a Python module reaches the interpreter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnsiballzForm {
    #[default]
    Cached,
    Zip,
}

#[derive(Debug, Args)]
pub(crate) struct AssembleArgs {
    /// A new-style Python module: a file, or a name to look up in the library.
    pub(crate) module: PathBuf,
    /// Write it here; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    /// Look what it imports up here first: a folder like `ansible/module_utils`, or with `ansible_collections` in it.
    /// Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) module_utils: Vec<PathBuf>,
    /// The python whose ansible-core it is made with. Repeatable, as for `run`.
    #[arg(long, value_name = "[NAME=]PATH", value_parser = parse_interpreter)]
    pub(crate) interpreter: Vec<(String, String)>,
}
