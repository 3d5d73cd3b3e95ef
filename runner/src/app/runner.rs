//! State that all runs of a process share: the configuration, the engine, the folder for temporary directories.

use std::fmt;
use std::sync::{Arc, OnceLock};

use modbox_kernel::Reached;
use modbox_scratch::ScratchRoot;
use modbox_wasm::WasmSandbox;

use crate::app::commands::Broker;
use crate::app::config::RunnerConfig;

/// Runner of modules. It makes the engine when the first wasm module is loaded.
pub struct Runner {
    pub(super) config: RunnerConfig,
    pub(super) wasm: OnceLock<WasmSandbox>,
    pub(super) scratch: ScratchRoot,
    /// Confinement of this process, once it is confined.
    pub(super) confined: OnceLock<Reached>,
    /// Broker that runs commands for guests, once this process cannot start processes any more.
    pub(super) broker: OnceLock<Arc<Broker>>,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("cache", &self.config.cache).finish_non_exhaustive()
    }
}

impl Runner {
    /// Makes a runner, without opening or starting anything.
    #[must_use]
    pub fn new(config: RunnerConfig) -> Self {
        let scratch = ScratchRoot::new(&config.temp_dir, config.cleanup.clone());
        Self { config, wasm: OnceLock::new(), scratch, confined: OnceLock::new(), broker: OnceLock::new() }
    }
}
