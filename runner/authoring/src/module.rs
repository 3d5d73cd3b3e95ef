//! Options of a build, and its result.

use std::path::PathBuf;

/// Options of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Binary of the package that is the module. `None` is the only binary, or the package's `default-run`.
    pub binary: Option<String>,
}

/// Module that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltModule {
    /// Absolute path of the component.
    pub component: PathBuf,
    /// Name of the module, which is the binary's.
    pub name: String,
    /// Whether an earlier build was still up to date.
    pub fresh: bool,
}
