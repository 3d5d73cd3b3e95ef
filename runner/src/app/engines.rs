//! Loads a module's compiled code into an engine: once per module, and again when a pool is full.

use std::sync::Arc;

use modbox_vocabulary::{Limits, WasmFormat};
use modbox_wasm::{Compiler, Instances, LoadedModule, WasmError, WasmSandbox};

use crate::app::error::RunError;
use crate::app::module::Module;
use crate::app::runner::Runner;

impl Runner {
    /// Compiles a wasm module, or loads its compiled code from the cache, so that no run has to wait for it. Optional:
    /// a run loads the module itself if needed. Modules of other kinds need no loading.
    ///
    /// # Errors
    ///
    /// Bytes that are not a valid module, or that take more than the limits allow to compile.
    pub fn load(&self, module: &Module, limits: &Limits) -> Result<(), RunError> {
        module.detection().map_err(Clone::clone)?;
        if let Some(format) = module.format() {
            self.loaded(module, format, limits)?;
        }
        Ok(())
    }

    /// Returns a module's compiled code, loaded into an engine.
    pub(super) fn loaded<'m>(
        &self,
        module: &'m Module,
        format: WasmFormat,
        limits: &Limits,
    ) -> Result<&'m LoadedModule, RunError> {
        if let Some(loaded) = module.loaded.get() {
            return Ok(loaded);
        }
        if let Some(error) = module.unloadable.get() {
            return Err(RunError::Unloadable(Arc::clone(error)));
        }
        let loaded = self.load_once(module, format, limits).map_err(|error| match error {
            // These errors do not depend on the limits or the moment, so they are kept.
            RunError::Wasm(error @ (WasmError::Compile(_) | WasmError::Link(_))) => {
                RunError::Unloadable(Arc::clone(module.unloadable.get_or_init(|| Arc::new(error))))
            }
            error => error,
        })?;
        // Another thread may have been first; both loaded the same code.
        Ok(module.loaded.get_or_init(|| loaded))
    }

    fn load_once(&self, module: &Module, format: WasmFormat, limits: &Limits) -> Result<LoadedModule, RunError> {
        match self.config.instances {
            Instances::OnDemand => self.load_on_demand(module, format, limits),
            // The pool failed: too little address space, an old kernel, or a module that does not fit. The module can
            // run without a pool. An error of the module itself would occur again.
            Instances::Pooled => match self.load_pooled(module, format, limits) {
                Err(error) if error.is_internal() => self.load_on_demand(module, format, limits),
                loaded => loaded,
            },
        }
    }

    /// Loads a module into the engine that all modules of this runner share.
    pub(super) fn load_on_demand(
        &self,
        module: &Module,
        format: WasmFormat,
        limits: &Limits,
    ) -> Result<LoadedModule, RunError> {
        if self.wasm.get().is_none() {
            // Another thread may have set it first.
            drop(self.wasm.set(self.new_sandbox(Instances::OnDemand)?));
        }
        let sandbox = self.wasm.get().ok_or(WasmError::Vanished)?;
        sandbox.load(|| bytes(module), format, module.digest(), limits)
    }

    /// Loads a module into a separate engine, and so into a separate pool.
    fn load_pooled(&self, module: &Module, format: WasmFormat, limits: &Limits) -> Result<LoadedModule, RunError> {
        self.new_sandbox(Instances::Pooled)?.load(|| bytes(module), format, module.digest(), limits)
    }

    fn new_sandbox(&self, instances: Instances) -> Result<WasmSandbox, WasmError> {
        let config = &self.config;
        let compiler = config.worker.clone().map_or(Compiler::InProcess, Compiler::Worker);
        let mut sandbox = WasmSandbox::new(compiler, config.cache.clone(), config.cleanup.clone(), instances)?;
        if let Some(callback) = config.on_compile.clone() {
            sandbox.on_compile(move || callback());
        }
        Ok(sandbox)
    }
}

fn bytes(module: &Module) -> Result<&[u8], RunError> {
    Ok(module.bytes()?)
}
