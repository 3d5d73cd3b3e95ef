//! A module that is to be started: what a kind is given, and what it makes of that.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_contract::{ModuleArgs, Release};
use modbox_vocabulary::Invocation;
use modbox_vocabulary::quoting::SplitError;
use thiserror::Error;

use crate::kind::Kind;
use crate::powershell_source::{PowershellError, PowershellSource};

/// How one kind of module is started.
pub(super) trait ModuleKind: fmt::Debug + Sync {
    /// Which one this is.
    fn kind(&self) -> Kind;

    /// Makes everything that a sandbox needs to run it.
    fn prepare(&self, request: &Request<'_>) -> Result<Prepared, PrepareError>;
}

/// One module with its arguments, about to be prepared.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The module's name, a guest's `argv[0]`.
    pub module_name: &'a str,
    /// The module's file name, with its extension and without a folder.
    pub file_name: &'a str,
    /// Where the module is, as an absolute path.
    pub path: &'a str,
    /// The whole file.
    pub bytes: &'a Arc<[u8]>,
    /// Task arguments and internal ones, as the module is to get them.
    pub args: ModuleArgs<'a>,
    /// The absolute path of the module's temporary directory, with or without a slash at the end. Unused by
    /// guests.
    pub tmpdir: &'a str,
    /// What to start instead of an interpreter, by the interpreter's base name: `perl` to
    /// `/opt/perl/bin/perl`. What `ansible_perl_interpreter` is to Ansible.
    pub interpreters: &'a BTreeMap<String, String>,
    /// What to start where a `#!` line names an interpreter called exactly `python` and nothing else is
    /// said about that: Ansible never takes such a line at its word.
    pub default_python: Option<&'a str>,
    /// How a Python module is started; unused by the others.
    pub python: Option<&'a PythonStart>,
    /// The release of Ansible whose contract is kept.
    pub release: Release,
    /// Feed the module to its interpreter on standard input where the kind allows it, so that neither it nor its
    /// arguments are on the disk (ansible-core 2.19, `_is_pipelining_enabled`: only kinds that get no file).
    pub pipelining: bool,
    /// Where PowerShell modules have their surroundings from.
    pub powershell: &'a dyn PowershellSource,
}

/// A module that is ready to be run.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What the sandbox is handed.
    pub invocation: Invocation,
    /// The interpreter line, without `#!`, that a result is told about; see
    /// [`RawOutput::shebang`](modbox_contract::RawOutput::shebang). `None` for kinds whose `#!` line is not read.
    pub shebang: Option<String>,
}

/// Why a module cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PrepareError {
    /// A kind that is recognised and not run.
    #[error("{kind} modules are not supported yet: {remedy}")]
    NotSupportedYet {
        /// Which one.
        kind: Kind,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A Python module without what it imports.
    #[error("module ({0}) was not put together with what it imports")]
    NotAssembled(String),
    /// A script without a `#!` line. Ansible's own words.
    #[error("module ({0}) is missing interpreter line")]
    MissingInterpreter(String),
    /// A `#!` line with nothing behind the mark. Ansible stops with an `IndexError` here.
    #[error("module ({0}) has an empty interpreter line")]
    EmptyInterpreter(String),
    /// A `#!` line that is not text.
    #[error("module ({0}) has an interpreter line that is not valid UTF-8")]
    InterpreterNotText(String),
    /// A PowerShell module without what it needs.
    #[error(transparent)]
    Powershell(#[from] PowershellError),
    /// A `#!` line, or what was given to replace its interpreter, with an open quote.
    #[error("module ({module}) has an interpreter line that cannot be read: {reason}: {line}")]
    BadInterpreter {
        /// The module's name.
        module: String,
        /// The line, without `#!`.
        line: String,
        /// What is wrong with it.
        reason: SplitError,
    },
}

/// A module that is ready to be started.
#[derive(Debug, Clone)]
pub struct PythonStart {
    /// The interpreter with its own arguments.
    pub interpreter: Vec<String>,
    /// What it is given.
    pub form: PythonForm,
    /// Internal arguments that the module's ansible-core does not know, and so must not get.
    pub unknown_args: Vec<String>,
    /// What it reads when it runs; see [`Invocation::runtime_paths`].
    pub runtime_paths: Vec<PathBuf>,
}

/// In which form a module is there.
#[derive(Debug, Clone)]
pub enum PythonForm {
    /// Laid out on the disk.
    LaidOut {
        /// The script that starts it, by its absolute path.
        script: String,
    },
    /// One script, to be completed with the arguments.
    Portable {
        /// The script.
        text: Arc<str>,
        /// Put it into the temporary directory, and start it from there.
        on_disk: bool,
    },
}
