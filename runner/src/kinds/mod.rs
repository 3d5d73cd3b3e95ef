//! What sort of module some bytes are, and how a module of that sort is started.
//!
//! A kind is pure: module bytes and arguments in, an [`Invocation`] out. It reads no file, starts nothing
//! and knows no other kind, so that its rules can be tested as a table. [`detect`] finds the kind of
//! some bytes; `ALL` is the registry. To add a kind: a file, a variant of [`Kind`], a line in `ALL`.
//!
//! What the native kinds share is not a kind: `native` lays out files and the command, `shebang` reads
//! and overrides interpreter lines.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::contract::quoting::SplitError;
use crate::contract::{ModuleArgs, Release};
use crate::kinds::powershell::{PowershellError, PowershellSource};
use crate::sandbox::invocation::Invocation;

pub mod detect;

mod binary;
mod jsonargs;
mod native;
mod old_style;
pub mod powershell;
mod python;
mod shebang;
mod want_json;
mod wasm;

pub use powershell::NoPowershell;
pub use python::{PythonForm, PythonSource, PythonStart};
pub use shebang::skip_line as skip_shebang;

/// The sorts of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A WASI component with the `wasi:cli/run` export.
    Component,
    /// A WASI 0.1 core module.
    Core,
    /// New-style Python.
    Python,
    /// New-style PowerShell.
    Powershell,
    /// A script into which the arguments are written.
    Jsonargs,
    /// A script that reads a JSON file.
    WantJson,
    /// An executable that reads a JSON file.
    Binary,
    /// A script that reads a `key=value` file.
    OldStyle,
}

/// How one kind of module is started.
trait ModuleKind: fmt::Debug + Sync {
    /// Which one this is.
    fn kind(&self) -> Kind;

    /// The word for it on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Makes everything that a sandbox needs to run it.
    fn prepare(&self, request: &Request<'_>) -> Result<Prepared, PrepareError>;
}

/// Every kind, in the order of detection.
const ALL: &[&dyn ModuleKind] = &[
    &wasm::COMPONENT,
    &wasm::CORE,
    &binary::Binary,
    &python::Python,
    &powershell::Powershell,
    &jsonargs::Jsonargs,
    &want_json::WantJson,
    &old_style::OldStyle,
];

impl Kind {
    /// Returns every kind, in the order of detection.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|module_kind| module_kind.kind())
    }

    /// Returns the word that the command line and reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.module_kind().name()
    }

    /// Returns whether a module of this kind runs in the engine, not as a process of the system.
    #[must_use]
    pub fn is_wasm(self) -> bool {
        matches!(self, Self::Component | Self::Core)
    }

    fn module_kind(self) -> &'static dyn ModuleKind {
        *ALL.iter().find(|module_kind| module_kind.kind() == self).expect("a test walks the registry")
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no kind.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no kind of module; the kinds are {list}", list = kind_list())]
pub struct UnknownKind(String);

fn kind_list() -> String {
    Kind::all().map(Kind::as_str).collect::<Vec<_>>().join(", ")
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        Self::all().find(|kind| kind.as_str() == word).ok_or_else(|| UnknownKind(word.to_owned()))
    }
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
    /// [`RawOutput::shebang`](crate::contract::RawOutput::shebang). `None` for kinds whose `#!` line is not read.
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

/// Makes everything that a sandbox needs to run a module of a kind.
///
/// # Errors
///
/// A kind that cannot be run yet, and interpreter lines that are missing or unreadable.
pub fn prepare(kind: Kind, request: &Request<'_>) -> Result<Prepared, PrepareError> {
    kind.module_kind().prepare(request)
}

#[cfg(test)]
mod tests;
