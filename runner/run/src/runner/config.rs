//! Configuration of a `Runner`: directories, the environment, caches and workers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_wasm::{CompileCache, Instances};
use modbox_worker::Workers;

use crate::python::PythonConfig;

/// Configuration of a [`Runner`](crate::runner::Runner).
#[derive(Clone)]
pub struct RunnerConfig {
    /// Cache of compiled code; without one, every run compiles.
    pub cache: Option<CompileCache>,
    /// The system's folder for temporary files.
    pub temp_dir: PathBuf,
    /// Working directory in which native modules start.
    pub directory: PathBuf,
    /// The whole environment; native modules receive it when they are trusted with everything.
    pub environment: Vec<(OsString, OsString)>,
    /// Registry of what must be removed or ended when a signal ends this process.
    pub cleanup: Cleanup,
    /// Workers for compiling, for guests, for native modules and for the commands of guests.
    /// Without them this process compiles, with no limit on time or memory, and runs guests, with the engine as the only
    /// boundary; a guest's file call that hangs then hangs the run; no command runs, whatever is granted.
    pub workers: Option<Workers>,
    /// How guests in this process get their memory: [`Instances::Pooled`] where modules run many times.
    pub instances: Instances,
    /// Callback before a module is compiled, since compiling may take seconds.
    pub on_compile: Option<Arc<dyn Fn() + Send + Sync>>,
    /// How Python modules are assembled and cached.
    pub python: PythonConfig,
    /// Folder in which what providers say about themselves is kept; without one, they are asked for each run.
    pub descriptions: Option<PathBuf>,
}

impl RunnerConfig {
    /// Returns the smallest configuration for an embedder: temporary files in `temp_dir`, compiling in this process
    /// without a cache, guests on the caller's thread with memory from the system.
    #[must_use]
    pub fn new(temp_dir: PathBuf) -> Self {
        Self {
            cache: None,
            directory: temp_dir.clone(),
            temp_dir,
            environment: Vec::new(),
            cleanup: Cleanup::default(),
            workers: None,
            instances: Instances::OnDemand,
            on_compile: None,
            python: PythonConfig::default(),
            descriptions: None,
        }
    }
}

impl std::fmt::Debug for RunnerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunnerConfig")
            .field("cache", &self.cache)
            .field("temp_dir", &self.temp_dir)
            .finish_non_exhaustive()
    }
}
