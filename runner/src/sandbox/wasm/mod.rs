//! Runs one guest: engine, compiled code, store, instance, outcome. Wasmtime is named only in here.
//!
//! Three clocks watch a guest: the epoch ticker interrupts wasm code, the runtime's timer ends a host call that
//! waits, and whoever started the guest's thread stops waiting for one that blocks. So a guest asleep or
//! blocked ends at its limit like one that spins.

mod adapter;
mod cache;
mod engine;
mod guest;
mod module;
mod output;
mod store;
mod ticker;
mod wasi;

use std::hash::{Hash, Hasher};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi::p2::bindings::CommandPre;

pub use self::cache::{CacheEntry, CacheError, CompileCache};
pub use self::engine::Instances;
pub use self::module::LoadedModule;
use self::store::State;
pub use self::ticker::Ticker;
use crate::sandbox::chain;
use crate::sandbox::cleanup::Cleanup;
use crate::sandbox::invocation::{Timing, WasmFormat};

/// A cause in the engine's own words.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a guest could not be started. Whatever it does once started is an [`Outcome`].
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// The engine refused its configuration: this machine lacks something that it needs.
    #[error("failed to start the wasm engine")]
    Engine(#[source] Cause),
    /// The bytes are no valid component or core module.
    #[error("failed to compile the module")]
    Compile(#[source] Cause),
    /// The component needs an interface that modbox does not have.
    #[error("failed to link the module: it needs an interface that modbox does not offer, or is no command")]
    Link(#[source] Cause),
    /// A granted directory cannot be opened.
    #[error("failed to open the granted directory `{}`", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: Cause,
    },
    /// The thread or the runtime that a guest runs on could not be made.
    #[error("failed to start the guest's thread")]
    Runtime(#[source] std::io::Error),
    /// A pool of instances that is too small for so many runs at a time.
    #[error("every place in the pool of instances is taken")]
    PoolFull,
    /// The thread ended without saying how: a fault of the engine.
    #[error("the guest's thread ended without a result")]
    Vanished,
}

/// The engine with what all of its runs share.
pub struct WasmSandbox {
    engine: Engine,
    linker: Linker<State>,
    ticker: Ticker,
    cache: Option<CompileCache>,
    cleanup: Cleanup,
    on_compile: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for WasmSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasmSandbox").field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl WasmSandbox {
    /// Makes the engine. Without a cache, every load compiles.
    ///
    /// # Errors
    ///
    /// An engine that cannot be made on this machine.
    pub fn new(
        cache: Option<CompileCache>,
        cleanup: Cleanup,
        ticker: Ticker,
        instances: Instances,
    ) -> Result<Self, WasmError> {
        let engine = engine::new_engine(instances).map_err(|error| WasmError::Engine(error.into()))?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(|error| WasmError::Engine(error.into()))?;
        ticker.add(&engine);
        Ok(Self { engine, linker, ticker, cache, cleanup, on_compile: None })
    }

    /// Calls `callback` whenever a module must be compiled, since that may take seconds.
    pub fn on_compile(&mut self, callback: impl Fn() + Send + Sync + 'static) {
        self.on_compile = Some(Box::new(callback));
    }

    /// Compiles a module, or takes its compiled code from the cache. `digest` is the module's SHA-256 in hex.
    ///
    /// # Errors
    ///
    /// Bytes that are no valid module, or a module that needs what modbox does not offer.
    pub fn load(&self, bytes: &[u8], format: WasmFormat, digest: &str) -> Result<LoadedModule, WasmError> {
        let mut timing = Timing::default();
        let mut note = None;
        let name = self.cache_name(digest);
        let component = match self.look_up(&name, &mut timing, &mut note) {
            Some(component) => component,
            None => self.compile_once(bytes, format, &name, &mut timing, &mut note)?,
        };
        let link = |error: wasmtime::Error| WasmError::Link(error.into());
        let started = Instant::now();
        let pre = CommandPre::new(self.linker.instantiate_pre(&component).map_err(link)?).map_err(link)?;
        timing.instantiate_us = micros(started.elapsed());
        Ok(LoadedModule::new(self.engine.clone(), pre, self.ticker.clone(), timing, note))
    }

    /// Looks into the cache, and notes why it cannot be used, if so.
    fn look_up(&self, name: &str, timing: &mut Timing, note: &mut Option<String>) -> Option<Component> {
        let started = Instant::now();
        let cached = self.load_cached(name);
        timing.load_us += micros(started.elapsed());
        cached.unwrap_or_else(|error| {
            *note = Some(chain(&error));
            None
        })
    }

    /// Compiles a module and stores it, unless another process does so first.
    fn compile_once(
        &self,
        bytes: &[u8],
        format: WasmFormat,
        name: &str,
        timing: &mut Timing,
        note: &mut Option<String>,
    ) -> Result<Component, WasmError> {
        if let Some(callback) = &self.on_compile {
            callback();
        }
        let usable = self.cache.as_ref().filter(|_| note.is_none());
        let lock = usable.and_then(|cache| cache.lock(name, &self.cleanup));
        if lock.is_some()
            && let Some(component) = self.look_up(name, timing, note)
        {
            return Ok(component);
        }
        let started = Instant::now();
        let component = self.compile(bytes, format)?;
        timing.compile_us = micros(started.elapsed());
        if note.is_none() {
            *note = self.store_compiled(name, &component).err();
        }
        Ok(component)
    }

    fn load_cached(&self, name: &str) -> Result<Option<Component>, CacheError> {
        let Some(cache) = &self.cache else { return Ok(None) };
        let Some(file) = cache.load(name)? else { return Ok(None) };
        // The engine maps the file that was checked, and not what its name may lead to by now.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        #[expect(unsafe_code, reason = "the engine has no safe way to load compiled code")]
        // SAFETY: `deserialize_file` asks for a file that `Component::serialize` wrote and that does not change
        // while it is mapped. The cache returns only files whose keyed hash shows that this user's modbox
        // stored them under this name, `store_compiled` stores nothing else, and nothing writes to an entry
        // once it has its name: it is replaced or removed. Only this user can, in a folder of mode 0700. An
        // engine with other settings refuses the file by itself.
        let component = unsafe { Component::deserialize_file(&self.engine, path) };
        // An entry of other settings whose name collides: compile again.
        Ok(component.ok())
    }

    fn compile(&self, bytes: &[u8], format: WasmFormat) -> Result<Component, WasmError> {
        let compile = |bytes: &[u8]| {
            Component::from_binary(&self.engine, bytes).map_err(|error| WasmError::Compile(error.into()))
        };
        match format {
            WasmFormat::Component => compile(bytes),
            WasmFormat::Core => {
                compile(&adapter::componentize(bytes).map_err(|error| WasmError::Compile(error.into()))?)
            }
        }
    }

    fn store_compiled(&self, name: &str, component: &Component) -> Result<(), String> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let bytes = component.serialize().map_err(|error| format!("{error:#}"))?;
        cache.store(name, &bytes, &self.cleanup).map_err(|error| chain(&error))
    }

    /// An entry is bound to the module, to modbox (whose adapter is compiled in) and to the engine's settings.
    fn cache_name(&self, digest: &str) -> String {
        let mut hasher = std::hash::DefaultHasher::new();
        self.engine.precompile_compatibility_hash().hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        format!("{digest}-{:016x}", hasher.finish())
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
