//! Finds the compiled code of a module: in the cache, or by compiling the module.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::time::Instant;

use modbox_cleanup::Cleanup;
use modbox_store::StoreError;
use modbox_vocabulary::time::micros;
use modbox_vocabulary::{Limits, Timing, WasmFormat, error_chain};
use tracing::{debug, info, warn};

use crate::cache::CompileCache;
use crate::compile::code::{Compiled, Source};
use crate::compile::{Compiler, check_size};
use crate::error::WasmError;
use crate::target;

/// Source of compiled code.
pub struct CodeSource {
    compiler: Compiler,
    cache: Option<CompileCache>,
    cleanup: Cleanup,
    on_compile: Option<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for CodeSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeSource").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// What was learnt while code was looked for.
#[derive(Debug, Default)]
pub struct CodeFacts {
    /// How long it took.
    pub timing: Timing,
    /// Notes for the operator, such as an unusable cache or a compiler that could not be fully confined.
    pub notes: Vec<String>,
}

/// Which code is looked for.
#[derive(Debug, Clone, Copy)]
pub struct CodeRequest<'a> {
    /// The module's format.
    pub format: WasmFormat,
    /// The module's SHA-256 in hex.
    pub digest: &'a str,
    /// Limits on compiling.
    pub limits: &'a Limits,
    /// Whether the module is compiled even if the cache has an entry, which has turned out to be unusable.
    pub compile: bool,
}

impl CodeSource {
    /// Creates a source. Without a cache, every module is compiled.
    #[must_use]
    pub fn new(compiler: Compiler, cache: Option<CompileCache>, cleanup: Cleanup) -> Self {
        Self { compiler, cache, cleanup, on_compile: None }
    }

    /// Sets a callback for the start of each compilation, which may take seconds.
    pub fn on_compile(&mut self, callback: impl Fn() + Send + Sync + 'static) {
        self.on_compile = Some(Box::new(callback));
    }

    /// Finds a module's code and gives it to `accept`. If that refuses the code of a cache entry with
    /// [`WasmError::Code`], the module is compiled. `bytes` is called only when the module must be compiled. Code is
    /// stored in the cache when it is accepted.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a valid module, if the module passes a limit on compiling, or if the compiler cannot
    /// be started; also with the errors of `bytes` and `accept`.
    pub fn find<'m, T, E: From<WasmError>>(
        &self,
        request: &CodeRequest<'_>,
        bytes: impl FnOnce() -> Result<&'m [u8], E>,
        facts: &mut CodeFacts,
        mut accept: impl FnMut(&File) -> Result<T, WasmError>,
    ) -> Result<T, E> {
        let mut search = Search { facts, cache: self.cache.as_ref(), name: cache_name(request.digest) };
        if !request.compile
            && let Some(accepted) = self.look_up(&mut search, &mut accept)?
        {
            return Ok(accepted);
        }
        let bytes = bytes()?;
        check_size(bytes.len() as u64, request.limits)?;
        Ok(self.compile_once(&Source { bytes, format: request.format }, request, &mut search, accept)?)
    }

    /// Takes code from the cache; returns `None` if the module must be compiled.
    fn look_up<T>(
        &self,
        search: &mut Search<'_>,
        accept: &mut impl FnMut(&File) -> Result<T, WasmError>,
    ) -> Result<Option<T>, WasmError> {
        let started = Instant::now();
        let cached = search.cache.map_or(Ok(None), |cache| cache.load(&search.name, &self.cleanup));
        let file = cached.unwrap_or_else(|error| {
            search.give_up_cache(&error);
            None
        });
        search.facts.timing.load_us += micros(started.elapsed());
        debug!(
            entry = search.name,
            hit = file.is_some(),
            load_us = search.facts.timing.load_us,
            "searched the compile cache"
        );
        match file.map(|file| accept(&file)).transpose() {
            // The entry has other settings under a colliding name: compile again.
            Err(WasmError::Code(_)) => Ok(None),
            accepted => accepted,
        }
    }

    /// Compiles a module and stores the code, unless another process stores it first.
    fn compile_once<T>(
        &self,
        source: &Source<'_>,
        request: &CodeRequest<'_>,
        search: &mut Search<'_>,
        mut accept: impl FnMut(&File) -> Result<T, WasmError>,
    ) -> Result<T, WasmError> {
        if let Some(callback) = &self.on_compile {
            callback();
        }
        let lock = search.cache.and_then(|cache| cache.lock(&search.name));
        if lock.is_some()
            && !request.compile
            && let Some(accepted) = self.look_up(search, &mut accept)?
        {
            return Ok(accepted);
        }
        let started = Instant::now();
        let Compiled { mut code, note } = self.compiler.compile(source, request.limits, &self.cleanup)?;
        let compile_us = micros(started.elapsed());
        search.facts.timing.compile_us = compile_us;
        info!(bytes = source.bytes.len(), compile_us, "compiled");
        // Use the compiler's code from memory, even if it cannot be cached. Do not cache code that the engine refuses.
        // Do cache code that only does not fit a pool: other runs can use it.
        let accepted = match accept(&code) {
            Err(WasmError::Code(error)) => {
                let reason = error_chain(&*error);
                return Err(WasmError::Crashed(format!("its code is not usable: {reason}")));
            }
            Err(error) if !matches!(error, WasmError::Unfit(_)) => return Err(error),
            accepted => accepted,
        };
        search.facts.notes.extend(note);
        if let Some(cache) = search.cache
            && let Err(error) = cache.put(&search.name, &mut code, &self.cleanup)
        {
            search.give_up_cache(&error);
        }
        accepted
    }
}

/// State of one search.
struct Search<'a> {
    facts: &'a mut CodeFacts,
    /// The cache, or `None` once it has turned out to be unusable.
    cache: Option<&'a CompileCache>,
    /// The name of the cache entry.
    name: String,
}

impl Search<'_> {
    fn give_up_cache(&mut self, error: &StoreError) {
        self.cache = None;
        warn!(error = error_chain(error), "the compile cache is disabled");
        self.facts.notes.push(format!("the compile cache is disabled: {}", error_chain(error)));
    }
}

/// Number of the way in which core modules become components. Raised when it changes, so that older code is not used.
const TRANSLATION: u32 = 2;

/// Returns the name of a module's cache entry. It depends on the module, on modbox (because the adapter is compiled in)
/// and on the processor. The engine itself refuses code of another release or of other settings; it is then compiled
/// again.
fn cache_name(digest: &str) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    (TRANSLATION, env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, target::features()).hash(&mut hasher);
    format!("{digest}-{:016x}", hasher.finish())
}
