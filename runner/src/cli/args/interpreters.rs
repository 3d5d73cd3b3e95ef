//! The switches of `modbox python`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct InterpretersArgs {
    #[command(subcommand)]
    pub(crate) command: InterpreterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InterpreterCommand {
    /// Build an interpreter for the installed ansible-core.
    Install(InterpreterInstallArgs),
    /// List the interpreters, newest first.
    List,
    /// Remove interpreters.
    #[command(after_help = REMOVE_HELP)]
    Remove {
        /// Keys of the interpreters, or their beginnings.
        #[arg(required_unless_present = "all")]
        keys: Vec<String>,
        /// Remove all interpreters.
        #[arg(long, conflicts_with = "keys")]
        all: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = INSTALL_HELP)]
pub(crate) struct InterpreterInstallArgs {
    /// Use this componentize-py [default: the one in PATH].
    #[arg(long, value_name = "FILE")]
    pub(crate) componentize: Option<PathBuf>,
    /// Install componentize-py with pip into modbox's cache, and use it.
    #[arg(long, conflicts_with = "componentize")]
    pub(crate) with_pip: bool,
    /// Import what the modules of this collection share, too, such as `community.general`. Repeatable.
    #[arg(long = "with", value_name = "COLLECTION")]
    pub(crate) collections: Vec<String>,
    /// Search collections first in this folder, which contains `ansible_collections`. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) collections_path: Vec<PathBuf>,
    /// Use this Python, with its ansible-core [default: the one that runs `ansible`].
    #[arg(long, value_name = "PATH")]
    pub(crate) interpreter: Option<String>,
}

const INSTALL_HELP: &str = "\
Examples:
  pip install componentize-py
  modbox python install
  modbox python install --with-pip --interpreter /opt/ansible/bin/python
  modbox python install --with community.general

The interpreter is CPython for WebAssembly, in which the installed ansible-core's `ansible.module_utils` is imported \
already. Building it takes about a minute and 100 MB of the cache, and a component for the plugins of plays as much again. \
It is kept for these files of ansible-core; a newer ansible-core needs another one. Modules of collections run in it, too. \
With `--with`, they start faster. From then on, Python modules run in the sandbox if the interpreter has all that they \
need; `--python native` runs one natively.

Exit status: 0 installed, or installed already · 2 usage · 3 Python, ansible-core or componentize-py is missing, or the \
build failed.";

const REMOVE_HELP: &str = "\
An interpreter that a run is using stays.

Exit status: 0 removed · 2 usage · 3 unknown key, or in use.";
