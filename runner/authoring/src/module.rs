//! A module to build, and the module that was built.

use std::path::PathBuf;

/// Options of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Which binary of the package is the module; without it, the only one there is, or the package's `default-run`.
    pub binary: Option<String>,
}

/// A module that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltModule {
    /// The component, as an absolute path.
    pub component: PathBuf,
    /// The module's name: that of the binary.
    pub name: String,
    /// Whether nothing had changed since it was built before.
    pub fresh: bool,
}
