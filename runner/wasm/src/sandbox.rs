//! The sandbox: loads modules, from the cache or by compiling them.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Instant;

use modbox_cleanup::Cleanup;
use modbox_store::StoreError;
use modbox_vocabulary::time::micros;
use modbox_vocabulary::{Limits, Timing, WasmFormat, error_chain};
use tracing::{debug, info, warn};
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::cache::CompileCache;
use crate::compile::code::{Compiled, Source};
use crate::compile::{Compiler, check_size};
use crate::engine::{self, Instances};
use crate::error::WasmError;
use crate::module::LoadedModule;
use crate::ticker::Ticker;
use crate::{link, target};

/// The engine, and everything that its runs share.
pub struct WasmSandbox {
    engine: Engine,
    ticker: Arc<Ticker>,
    instances: Instances,
    compiler: Compiler,
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
    /// Creates the engine. Without a cache, every load compiles.
    ///
    /// # Errors
    ///
    /// Fails if the engine cannot be created on this machine.
    pub fn new(
        compiler: Compiler,
        cache: Option<CompileCache>,
        cleanup: Cleanup,
        instances: Instances,
    ) -> Result<Self, WasmError> {
        let role = engine::Role::Run(instances);
        let engine = engine::new_engine(role).map_err(|error| WasmError::Engine(error.into()))?;
        let ticker = Arc::new(Ticker::new(engine.clone()));
        Ok(Self { engine, ticker, instances, compiler, cache, cleanup, on_compile: None })
    }

    /// Sets a callback for the start of each compilation, which may take seconds.
    pub fn on_compile(&mut self, callback: impl Fn() + Send + Sync + 'static) {
        self.on_compile = Some(Box::new(callback));
    }

    /// Takes a module's compiled code from the cache, or compiles it. `digest` is the module's SHA-256 in hex. `bytes`
    /// is called only when the module must be compiled.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a valid module, if the module passes a limit on compiling or imports what modbox
    /// does not offer, or if the compiler cannot be started.
    pub fn load<'m, E: From<WasmError>>(
        &self,
        bytes: impl FnOnce() -> Result<&'m [u8], E>,
        format: WasmFormat,
        digest: &str,
        limits: &Limits,
    ) -> Result<LoadedModule, E> {
        let mut loading = Loading { timing: Timing::default(), notes: Vec::new(), cache: self.cache.as_ref() };
        let name = cache_name(digest);
        let component = match self.look_up(&name, &mut loading)? {
            Some(component) => component,
            None => {
                let bytes = bytes()?;
                check_size(bytes.len() as u64, limits)?;
                self.compile_once(&Source { bytes, format }, &name, limits, &mut loading)?
            }
        };
        let Loading { mut timing, notes, .. } = loading;
        let link = |error: wasmtime::Error| WasmError::Link(error.into());
        let started = Instant::now();
        let (linker, runs_commands) =
            link::linker(&self.engine, &component).map_err(|error| WasmError::Engine(error.into()))?;
        let pre = CommandPre::new(linker.instantiate_pre(&component).map_err(link)?).map_err(link)?;
        timing.instantiate_us = micros(started.elapsed());
        Ok(LoadedModule::new(self.engine.clone(), pre, Arc::clone(&self.ticker), timing, notes, runs_commands))
    }

    /// Loads a module's code from the cache; returns `None` if it must be compiled.
    fn look_up(&self, name: &str, loading: &mut Loading<'_>) -> Result<Option<Component>, WasmError> {
        let started = Instant::now();
        let cached = loading.cache.map_or(Ok(None), |cache| cache.load(name, &self.cleanup));
        let file = cached.unwrap_or_else(|error| {
            loading.give_up_cache(&error);
            None
        });
        let component = file.map(|file| self.map_code(&file));
        loading.timing.load_us += micros(started.elapsed());
        debug!(
            entry = name,
            hit = component.is_some(),
            load_us = loading.timing.load_us,
            "looked into the compile cache"
        );
        match component {
            Some(Err(error)) if self.instances == Instances::Pooled => Err(WasmError::Unfit(error.into())),
            // The entry has other settings under a colliding name: compile again.
            component => Ok(component.and_then(Result::ok)),
        }
    }

    /// Compiles a module and stores the code, unless another process stores it first.
    fn compile_once(
        &self,
        source: &Source<'_>,
        name: &str,
        limits: &Limits,
        loading: &mut Loading<'_>,
    ) -> Result<Component, WasmError> {
        if let Some(callback) = &self.on_compile {
            callback();
        }
        let lock = loading.cache.and_then(|cache| cache.lock(name));
        if lock.is_some()
            && let Some(component) = self.look_up(name, loading)?
        {
            return Ok(component);
        }
        let started = Instant::now();
        let Compiled { mut code, note } = self.compiler.compile(source, limits, &self.cleanup)?;
        let mapped = self.map_code(&code);
        loading.timing.compile_us = micros(started.elapsed());
        info!(bytes = source.bytes.len(), compile_us = loading.timing.compile_us, "compiled");
        // Use the compiler's code from memory, even if it cannot be cached. Do not cache code that the engine refuses.
        // Do cache code that only does not fit a pool: other runs can use it.
        let component = match mapped {
            Err(error) if self.instances == Instances::Pooled => Err(WasmError::Unfit(error.into())),
            Err(error) => return Err(WasmError::Crashed(format!("its code is not usable: {error:#}"))),
            Ok(component) => Ok(component),
        };
        loading.notes.extend(note);
        if let Some(cache) = loading.cache
            && let Err(error) = cache.put(name, &mut code, &self.cleanup)
        {
            loading.give_up_cache(&error);
        }
        component
    }

    /// Maps a file of machine code into the engine.
    fn map_code(&self, file: &File) -> wasmtime::Result<Component> {
        // With this path the engine maps the file that was checked, even if its name now leads to another file.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        #[expect(unsafe_code, reason = "the engine has no safe way to load compiled code")]
        // SAFETY: `deserialize_file` requires a file that this engine's compiler wrote and that does not change while
        // it is mapped. `file` comes from one of two sources. Either modbox's own compiler has just returned it, as a
        // memory file that is sealed against every change. Or it is an entry of the cache. The cache returns a file
        // only when its keyed hash shows that this user's modbox stored it under this name, and modbox stores nothing
        // but compiler output. Nothing writes to a named entry; an entry is replaced or removed, and only this user
        // can do that, in a folder of mode 0700. The engine itself refuses code of other settings. The documentation
        // of `compile` says what a compromised compiler can do.
        unsafe {
            Component::deserialize_file(&self.engine, path)
        }
    }
}

/// State of one [`WasmSandbox::load`].
struct Loading<'a> {
    timing: Timing,
    notes: Vec<String>,
    /// The cache, or `None` once it has turned out to be unusable.
    cache: Option<&'a CompileCache>,
}

impl Loading<'_> {
    fn give_up_cache(&mut self, error: &StoreError) {
        self.cache = None;
        warn!(error = error_chain(error), "the compile cache is not used");
        self.notes.push(format!("the compile cache is not used: {}", error_chain(error)));
    }
}

/// Returns the name of a module's cache entry. It depends on the module, on modbox (because the adapter is compiled in)
/// and on the processor. The engine itself refuses code of another release or of other settings; it is then compiled
/// again.
fn cache_name(digest: &str) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, target::features()).hash(&mut hasher);
    format!("{digest}-{:016x}", hasher.finish())
}
