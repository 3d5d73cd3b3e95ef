//! Configuration of a `Runner`: directories, the environment, caches, and how the process is confined.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_wasm::{CompileCache, Instances};

use crate::app::confine::ProcessConfinement;
use crate::app::python::PythonConfig;

/// Configuration of a [`Runner`](crate::app::Runner).
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
    /// The modbox program to start for compiling and for each [command](crate::app::commands) of a guest;
    /// [`THIS_BINARY`](modbox_native::THIS_BINARY) means modbox itself. Without one, this process compiles, with no
    /// limit on time or memory, and no command runs, whatever is granted.
    pub worker: Option<PathBuf>,
    /// How guests get their memory: [`Instances::Pooled`] where modules run many times.
    pub instances: Instances,
    /// Runs each guest on its own thread, so that [`Runner::run`](crate::app::Runner::run) returns at the wall-clock
    /// limit even when a host call hangs. A call that hangs in the file system ends only with its process.
    pub watched: bool,
    /// Callback before a module is compiled, since compiling may take seconds.
    pub on_compile: Option<Arc<dyn Fn() + Send + Sync>>,
    /// How Python modules are assembled and cached.
    pub python: PythonConfig,
    /// How to confine this whole process to the grants of the first module that it runs. Without it, the engine is the
    /// only boundary, as it must be in a process that also does other work.
    pub confine: Option<Arc<dyn ProcessConfinement>>,
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
            worker: None,
            instances: Instances::OnDemand,
            watched: false,
            on_compile: None,
            python: PythonConfig::default(),
            confine: None,
        }
    }

    /// Returns whether this process is a worker that makes many runs in a directory of its own.
    pub(super) fn is_for_many_runs(&self) -> bool {
        self.confine.as_ref().is_some_and(|process| process.directory().is_some())
    }

    /// Returns whether this process makes one run and does nothing else.
    pub(super) fn is_for_one_run(&self) -> bool {
        self.confine.as_ref().is_some_and(|process| process.directory().is_none())
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
