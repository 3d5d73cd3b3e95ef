//! Loads compiled code into an engine.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Instant;

use modbox_vocabulary::Timing;
use modbox_vocabulary::time::micros;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::engine::{self, Instances, Role};
use crate::error::WasmError;
use crate::link;
use crate::module::LoadedModule;
use crate::ticker::Ticker;

/// An engine that runs compiled code.
pub struct Loader {
    engine: Engine,
    ticker: Arc<Ticker>,
    instances: Instances,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("instances", &self.instances).finish_non_exhaustive()
    }
}

impl Loader {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// Fails if the engine cannot be created on this machine.
    pub fn new(instances: Instances) -> Result<Self, WasmError> {
        let engine = engine::new_engine(Role::Run(instances)).map_err(|error| WasmError::Engine(error.into()))?;
        let ticker = Arc::new(Ticker::new(engine.clone()));
        Ok(Self { engine, ticker, instances })
    }

    /// Maps a file of compiled code and links it.
    ///
    /// # Errors
    ///
    /// Fails if the code is for another engine, does not fit the engine's pool, or imports what modbox does not offer.
    pub fn load(&self, code: &File) -> Result<LoadedModule, WasmError> {
        let started = Instant::now();
        let component = self.map(code).map_err(|error| match self.instances {
            Instances::Pooled => WasmError::Unfit(error.into()),
            Instances::OnDemand => WasmError::Code(error.into()),
        })?;
        let load_us = micros(started.elapsed());
        let linking = Instant::now();
        let linker = link::linker(&self.engine, &component).map_err(|error| WasmError::Engine(error.into()))?;
        let unlinked = |error: wasmtime::Error| WasmError::Link(error.into());
        let pre = CommandPre::new(linker.instantiate_pre(&component).map_err(unlinked)?).map_err(unlinked)?;
        let timing = Timing { load_us, instantiate_us: micros(linking.elapsed()), ..Timing::default() };
        Ok(LoadedModule::new(self.engine.clone(), pre, Arc::clone(&self.ticker), timing))
    }

    fn map(&self, file: &File) -> wasmtime::Result<Component> {
        // With this path the engine maps the file that was checked, even if its name now leads to another file.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        #[expect(unsafe_code, reason = "the engine has no safe way to load compiled code")]
        // SAFETY: `deserialize_file` requires a file that this engine's compiler wrote and that does not change while
        // it is mapped. `file` comes from one of two sources. Either modbox's own compiler has just returned it, as a
        // memory file that is sealed against every change. Or it is an entry of the cache. The cache returns a file
        // only when its keyed hash shows that this user's modbox stored it under this name, and modbox stores nothing
        // but compiler output. Nothing writes to a named entry; an entry is replaced or removed, and only this user
        // can do that, in a folder of mode 0700. A worker has the file from the monitor, which got it in the same way.
        // The engine itself refuses code of other settings. The documentation of `compile` says what a compromised
        // compiler can do.
        unsafe {
            Component::deserialize_file(&self.engine, path)
        }
    }
}
