//! The switches for Python modules, as typed: those that `run` and `batch` share, and those of `assemble`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::args::shared::help::ASSEMBLE_HELP;
use crate::cli::args::shared::lookup::LookupArgs;

// No doc comment: clap would show it as the help of the subcommand.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Python modules")]
pub(crate) struct PythonArgs {
    /// Search imports first in this folder, which is like `ansible/module_utils` or contains `ansible_collections`.
    /// Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) module_utils: Vec<PathBuf>,
    /// Form for the interpreter: files compiled in the cache, or one script that contains a zip.
    #[arg(long, value_enum, value_name = "FORM", default_value = "cached")]
    pub(crate) ansiballz: AnsiballzForm,
}

/// The form in which the interpreter gets a Python module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnsiballzForm {
    #[default]
    Cached,
    Zip,
}

#[derive(Debug, Args)]
#[command(after_help = ASSEMBLE_HELP)]
pub(crate) struct AssembleArgs {
    /// A new-style Python module: a file, or a name to look up in the library.
    pub(crate) module: PathBuf,
    /// Output file; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) lookup: LookupArgs,
    /// Search imports first in this folder, which is like `ansible/module_utils` or contains `ansible_collections`.
    /// Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) module_utils: Vec<PathBuf>,
}
