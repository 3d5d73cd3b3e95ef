//! What a PowerShell module needs from outside, as questions: kinds do no I/O.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A file of PowerShell or C#.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Where it was found, for stack traces.
    pub path: String,
    /// The file.
    pub bytes: Arc<[u8]>,
}

/// Why ansible-core's files cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    /// No ansible-core, or none whose scripts are known.
    #[error(
        "PowerShell modules need the scripts of an installed ansible-core {needed}: {found}; install it where `ansible` \
         or `python3` of PATH finds it, or name its folder with `--module-utils PATH`"
    )]
    NoAnsible {
        /// What was looked for.
        needed: &'static str,
        /// What was found instead.
        found: String,
    },
    /// A file that cannot be read.
    #[error("failed to read `{path}`: {reason}")]
    Read {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
}

/// Where scripts and utils are found.
pub trait PowershellSource: fmt::Debug {
    /// Returns the program to run PowerShell with, if there is one.
    fn interpreter(&self) -> Option<String>;

    /// Returns one of ansible-core's own scripts (`ansible/executor/powershell`).
    ///
    /// # Errors
    ///
    /// No ansible-core, or a file that cannot be read.
    fn script(&self, name: &str) -> Result<Arc<[u8]>, SourceError>;

    /// Returns a util by the name of its file, such as `Ansible.ModuleUtils.Legacy.psm1`.
    ///
    /// # Errors
    ///
    /// No ansible-core, or a file that cannot be read.
    fn util(&self, file: &str) -> Result<Option<Script>, SourceError>;

    /// Returns a file of a collection's package, such as `ansible_collections.a.b.plugins.module_utils`.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    fn resource(&self, package: &str, file: &str) -> Result<Option<Script>, SourceError>;

    /// Says where utils are looked for, for a message that one was not found.
    fn searched(&self) -> String;
}

/// For modules of other kinds, which need none of this.
#[derive(Debug, Clone, Copy)]
pub struct NoPowershell;

impl PowershellSource for NoPowershell {
    fn interpreter(&self) -> Option<String> {
        None
    }

    fn script(&self, _: &str) -> Result<Arc<[u8]>, SourceError> {
        Err(SourceError::NoAnsible { needed: "2.19 or newer", found: "none was looked for".to_owned() })
    }

    fn util(&self, _: &str) -> Result<Option<Script>, SourceError> {
        Ok(None)
    }

    fn resource(&self, _: &str, _: &str) -> Result<Option<Script>, SourceError> {
        Ok(None)
    }

    fn searched(&self) -> String {
        "nowhere".to_owned()
    }
}

/// Why a PowerShell module cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PowershellError {
    /// Nothing to run it with.
    #[error(
        "there is no PowerShell to run the module: neither `pwsh` nor `powershell.exe` is in PATH; install PowerShell, or \
         name it with `--interpreter powershell=PATH`"
    )]
    NoInterpreter,
    /// A util that is nowhere.
    #[error(
        "the module requires `{name}`, which was not found: {searched}; name its folder with `--module-utils PATH`"
    )]
    MissingUtil {
        /// As the module names it.
        name: String,
        /// Where it was looked for.
        searched: String,
    },
    /// ansible-core's scripts cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
}
