//! The input and the output of a kind: a request to start a module, and the prepared module.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use modbox_contract::{GivenSecrets, ModuleArgs, Release};
use modbox_providers::RawCallError;
use modbox_vocabulary::quoting::SplitError;
use modbox_vocabulary::{Invocation, RuntimePath};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::kind::Kind;
use crate::powershell_source::{PowershellError, PowershellSource};

/// The name of the file in which guests find their arguments, and its path there.
pub(super) const ARGS_NAME: &str = "args.json";
pub(super) const ARGS_PATH: &str = "/args/args.json";

/// The preparation of modules of one kind.
pub(super) trait ModuleKind: fmt::Debug + Sync {
    fn kind(&self) -> Kind;

    /// Prepares a module: returns all that a sandbox needs to run it.
    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError>;
}

/// A module and its arguments, before preparation.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The module's name, a guest's `argv[0]`.
    pub module_name: &'a str,
    /// The module's file name, with its extension and without a folder.
    pub file_name: &'a str,
    /// The absolute path of the module.
    pub path: &'a str,
    /// The whole file.
    pub bytes: &'a Arc<[u8]>,
    /// The task's arguments and the internal ones.
    pub args: ModuleArgs<'a>,
    /// The absolute path of the module's temporary directory, with or without a trailing slash. Guests do not use it.
    pub tmpdir: &'a str,
    /// Replacements of interpreters, by the interpreter's base name: `perl` to `/opt/perl/bin/perl`. The same as
    /// Ansible's `ansible_perl_interpreter`.
    pub interpreters: &'a BTreeMap<String, String>,
    /// The interpreter for a `#!` line that names exactly `python`, unless `interpreters` has an entry for it. Ansible
    /// never uses such a line as it is.
    pub default_python: Option<&'a str>,
    /// The start of a Python module. Other kinds do not use it.
    pub python: Option<&'a PythonStart>,
    /// The release of Ansible whose contract applies.
    pub release: Release,
    /// Send the module to its interpreter on standard input if the kind allows it, so that neither the module nor its
    /// arguments are written to disk (ansible-core 2.19, `_is_pipelining_enabled`: only kinds that get no file).
    pub pipelining: bool,
    /// The source of the scripts that PowerShell modules need.
    pub powershell: &'a dyn PowershellSource,
    /// Secrets that are in the arguments, for a Python module of ansible-core 2.22.
    pub secrets: &'a GivenSecrets,
    /// The soft limit of open files of a Python module; 0 to leave it. Guests open no files of the machine's.
    pub open_files: u64,
}

/// A prepared module.
#[derive(Debug, Clone)]
pub struct PreparedInvocation {
    /// The invocation for the sandbox.
    pub invocation: Invocation,
    /// The interpreter line without `#!`, for the module's result; see
    /// [`RawOutput::shebang`](modbox_contract::RawOutput::shebang). `None` for kinds whose `#!` line is not parsed.
    pub shebang: Option<String>,
    /// Whether the result repeats the arguments, as `invocation`, although the caller did not ask for that. modbox reads there
    /// which of them are secrets, and drops it.
    pub adds_invocation: bool,
}

impl PreparedInvocation {
    /// Returns a prepared module that gets its arguments as they are.
    pub(super) fn new(invocation: Invocation, shebang: Option<String>) -> Self {
        Self { invocation, shebang, adds_invocation: false }
    }
}

/// The reason why a module cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PrepareError {
    /// A kind that is recognised but cannot be run.
    #[error("{kind} modules are not supported yet: {remedy}")]
    NotSupportedYet {
        /// The kind.
        kind: Kind,
        /// The alternative for the user.
        remedy: &'static str,
    },
    /// A Python module without its imports.
    #[error("module ({0}) was not combined with its imports")]
    NotAssembled(String),
    /// A script without a `#!` line. The message is Ansible's.
    #[error("module ({0}) is missing interpreter line")]
    MissingInterpreter(String),
    /// A `#!` line without an interpreter. Ansible fails with an `IndexError` here.
    #[error("module ({0}) has an empty interpreter line")]
    EmptyInterpreter(String),
    /// A `#!` line that is not text.
    #[error("module ({0}) has an interpreter line that is not valid UTF-8")]
    InterpreterNotText(String),
    /// A PowerShell module without the scripts that it needs.
    #[error(transparent)]
    Powershell(#[from] PowershellError),
    /// Arguments that are not those of a provider's action, or that no program can get.
    #[error(transparent)]
    Provider(#[from] RawCallError),
    /// A word for a component that is not text.
    #[error("module ({0}) is a component, which takes only arguments that are UTF-8")]
    NotText(String),
    /// A `#!` line, or a replacement for its interpreter, with an open quote.
    #[error("module ({module}) has an interpreter line that cannot be read: {reason}: {line}")]
    BadInterpreter {
        /// The module's name.
        module: String,
        /// The line, without `#!`.
        line: String,
        /// The syntax error.
        reason: SplitError,
    },
}

/// How a Python module is started.
#[derive(Debug, Clone)]
pub struct PythonStart {
    /// The interpreter and its arguments.
    pub interpreter: Vec<String>,
    /// The form of the module.
    pub form: PythonForm,
    /// What the module's ansible-core knows of internal arguments.
    pub core_args: CoreArgs,
    /// Paths that the module reads at run time; see [`Invocation::runtime_paths`].
    pub runtime_paths: Vec<RuntimePath>,
}

/// What an ansible-core knows of internal arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreArgs {
    /// Internal arguments that it does not know. A module fails if it gets them, so they are left out.
    pub unknown: Vec<String>,
    /// Whether its results repeat the arguments on request only, which is an internal argument since ansible-core 2.21.
    pub invocation_on_request: bool,
}

/// The form of an assembled Python module.
#[derive(Debug, Clone)]
pub enum PythonForm {
    /// Files in a folder.
    LaidOut {
        /// The absolute path of the script that starts it.
        script: String,
    },
    /// One script, into which the arguments are inserted.
    Portable {
        /// The script.
        text: Arc<str>,
        /// Write it to the temporary directory and start it from there.
        on_disk: bool,
    },
    /// A program for the interpreter of the sandbox.
    Guest {
        /// The start file, which names the other files.
        start: Arc<[u8]>,
        /// Code of the module, and of imports that the interpreter does not have.
        code: Arc<[u8]>,
    },
}
