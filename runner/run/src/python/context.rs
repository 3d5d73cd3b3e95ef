//! Input of an assembly: the runner's side, and the module.

use std::path::Path;

use modbox_kinds::PythonSource;
use modbox_native::NativeContext;

use crate::python::cache::Cache;
use crate::python::config::PythonConfig;

/// The runner's side of every assembly.
pub(super) struct AssemblyContext<'a> {
    pub(super) config: &'a PythonConfig,
    /// Runs modbox's scripts with an interpreter.
    pub(super) native: &'a NativeContext,
    pub(super) cache: Option<Cache>,
    pub(super) tmpdir: &'a Path,
}

/// Module to assemble: its name, path and source.
#[derive(Clone, Copy)]
pub(crate) struct ModuleSource<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: &'a Path,
    /// SHA-256 of its file, in hex.
    pub(crate) digest: &'a str,
    pub(crate) source: &'a PythonSource,
}
