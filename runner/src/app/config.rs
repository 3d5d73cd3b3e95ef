//! What a runner takes from its surroundings.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_wasm::{CompileCache, Instances};

use crate::app::confine::ProcessConfinement;
use crate::app::python::PythonConfig;

/// What a runner takes from its surroundings.
pub struct RunnerConfig {
    /// Where compiled code is kept; without one, every run compiles.
    pub cache: Option<CompileCache>,
    /// The system's folder for temporary files.
    pub temp_dir: PathBuf,
    /// Where native modules start.
    pub directory: PathBuf,
    /// The whole environment, for native modules that are trusted with everything.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to register what a signal must not leave behind.
    pub cleanup: Cleanup,
    /// The modbox program that is started to compile, and for each [command](crate::app::commands) of a guest,
    /// [`THIS_BINARY`](modbox_native::THIS_BINARY) for modbox itself. Without one this process compiles, and neither time nor memory of that
    /// is limited; and no command runs, whatever is granted.
    pub worker: Option<PathBuf>,
    /// Where the memory of guests comes from: [`Instances::Pooled`] where modules run many times.
    pub instances: Instances,
    /// Run each guest on a thread of its own, so that [`Runner::run`](crate::app::Runner::run) returns at the wall-clock
    /// limit even when a host call hangs. A call that hangs in the file system ends only with its process.
    pub watched: bool,
    /// Called before a module is compiled, since that may take seconds.
    pub on_compile: Option<Arc<dyn Fn() + Send + Sync>>,
    /// How Python modules are put together and kept.
    pub python: PythonConfig,
    /// How to confine this whole process to what the first module that it runs is granted. Without it the engine is the
    /// one wall, as it must be in a process with other things to do.
    pub confine: Option<Arc<dyn ProcessConfinement>>,
}

impl RunnerConfig {
    /// Returns what an embedder needs least: temporary files in `temp_dir`, compiling without a cache and in this process,
    /// guests on the thread of their caller, their memory from the system.
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

    /// Whether this process makes one run and does nothing else.
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
