//! Why a PowerShell module cannot be started.

use thiserror::Error;

use crate::powershell::source::SourceError;

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
