//! Input of an assembly: the runner's side, and the module.

use std::path::Path;

use modbox_kinds::PythonSource;
use modbox_native::NativeContext;

use crate::app::python::cache::Cache;
use crate::app::python::config::PythonConfig;

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
pub(in crate::app) struct ModuleSource<'a> {
    pub(in crate::app) name: &'a str,
    pub(in crate::app) path: &'a Path,
    /// SHA-256 of its file, in hex.
    pub(in crate::app) digest: &'a str,
    pub(in crate::app) source: &'a PythonSource,
}
