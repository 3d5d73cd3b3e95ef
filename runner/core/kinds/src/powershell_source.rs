//! The interface through which PowerShell modules get files from outside, because kinds do no I/O.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A PowerShell or C# file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its path, for stack traces.
    pub path: String,
    /// The content.
    pub bytes: Arc<[u8]>,
}

/// The reason why ansible-core's files are unavailable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SourceError {
    /// No ansible-core, or one whose scripts are not supported.
    #[error(
        "PowerShell modules need the scripts of an installed ansible-core {needed}: {found}; install it where `ansible` \
         or `python3` of PATH finds it, or name its folder with `--module-utils PATH`"
    )]
    NoAnsible {
        /// The version that was searched for.
        needed: &'static str,
        /// The result of the search.
        found: String,
    },
    /// An unreadable file.
    #[error("failed to read `{path}`: {reason}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        reason: String,
    },
}

/// The source of scripts and utils.
pub trait PowershellSource: fmt::Debug {
    /// Returns the program that runs PowerShell, if there is one.
    fn interpreter(&self) -> Option<String>;

    /// Returns one of ansible-core's own scripts (`ansible/executor/powershell`).
    ///
    /// # Errors
    ///
    /// No ansible-core, or an unreadable file.
    fn script(&self, name: &str) -> Result<Arc<[u8]>, SourceError>;

    /// Returns a util by its file name, such as `Ansible.ModuleUtils.Legacy.psm1`.
    ///
    /// # Errors
    ///
    /// No ansible-core, or an unreadable file.
    fn util(&self, file: &str) -> Result<Option<Script>, SourceError>;

    /// Returns a file of a collection's package, such as `ansible_collections.a.b.plugins.module_utils`.
    ///
    /// # Errors
    ///
    /// An unreadable file.
    fn resource(&self, package: &str, file: &str) -> Result<Option<Script>, SourceError>;

    /// Describes where utils are searched for, for the message about a missing one.
    fn searched(&self) -> String;
}

/// An empty source, for modules of other kinds.
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

/// The reason why a PowerShell module cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PowershellError {
    /// No PowerShell interpreter.
    #[error(
        "failed to find PowerShell: neither `pwsh` nor `powershell.exe` is in PATH; install PowerShell, or \
         name it with `--interpreter powershell=PATH`"
    )]
    NoInterpreter,
    /// A util that was not found.
    #[error(
        "the module requires `{name}`, which was not found: {searched}; name its folder with `--module-utils PATH`"
    )]
    MissingUtil {
        /// The name in the module.
        name: String,
        /// The places that were searched.
        searched: String,
    },
    /// A wrapper of an ansible-core that needs more than modbox knows.
    #[error(
        "ansible-core's `{script}` asks for `{parameter}`, which this modbox does not know; update modbox, or name the \
         folder of an earlier ansible-core with `--module-utils PATH`"
    )]
    NewerWrapper {
        /// The script.
        script: &'static str,
        /// What it asks for.
        parameter: String,
    },
    /// ansible-core's scripts are unavailable.
    #[error(transparent)]
    Source(#[from] SourceError),
}
