//! Loads a module's compiled code into an engine of this process: once per module, and again when a pool is full.

use std::sync::Arc;

use modbox_vocabulary::{Limits, WasmFormat};
use modbox_wasm::{CodeFacts, CodeRequest, Instances, Loader, WasmError};

use crate::modules::module::Module;
use crate::modules::resident_module::ResidentModule;
use crate::reports::error::RunError;
use crate::runner::Runner;

impl Runner {
    /// Compiles a wasm module, or loads its compiled code from the cache, so that no run in this process has to wait for
    /// it. Optional: a run loads the module itself if needed. Modules of other kinds need no loading.
    ///
    /// # Errors
    ///
    /// Bytes that are not a valid module, or that take more than the limits allow to compile.
    pub fn load(&self, module: &Module, limits: &Limits) -> Result<(), RunError> {
        module.detection().map_err(Clone::clone)?;
        if let Some(format) = module.format() {
            self.resident(module, format, limits)?;
        }
        Ok(())
    }

    /// Returns a module in an engine of this process.
    pub(crate) fn resident<'m>(
        &self,
        module: &'m Module,
        format: WasmFormat,
        limits: &Limits,
    ) -> Result<&'m ResidentModule, RunError> {
        if let Some(loaded) = module.resident.get() {
            return Ok(loaded);
        }
        let loaded = unloadable_once(module, || self.load_once(module, format, limits))?;
        // Another thread may have been first; both loaded the same code.
        Ok(module.resident.get_or_init(|| loaded))
    }

    fn load_once(&self, module: &Module, format: WasmFormat, limits: &Limits) -> Result<ResidentModule, RunError> {
        match self.config.instances {
            Instances::OnDemand => self.load_on_demand(module, format, limits),
            // The pool failed: too little address space, an old kernel, or a module that does not fit. The module can
            // run without a pool. An error of the module itself would occur again.
            Instances::Pooled => match self.load_into(&Loader::new(Instances::Pooled)?, module, format, limits) {
                Err(error) if error.is_internal() => self.load_on_demand(module, format, limits),
                loaded => loaded,
            },
        }
    }

    /// Loads a module into the engine that all modules of this runner share.
    pub(crate) fn load_on_demand(
        &self,
        module: &Module,
        format: WasmFormat,
        limits: &Limits,
    ) -> Result<ResidentModule, RunError> {
        let engine = match self.engine.get() {
            Some(engine) => engine,
            None => {
                let made = Loader::new(Instances::OnDemand)?;
                // Another thread may have set it first.
                self.engine.get_or_init(|| made)
            }
        };
        self.load_into(engine, module, format, limits)
    }

    fn load_into(
        &self,
        engine: &Loader,
        module: &Module,
        format: WasmFormat,
        limits: &Limits,
    ) -> Result<ResidentModule, RunError> {
        let request = CodeRequest { format, digest: module.digest(), limits, compile: false };
        let mut facts = CodeFacts::default();
        let loaded = self.code.find(&request, || bytes(module), &mut facts, |code| engine.load(code))?;
        Ok(ResidentModule { module: loaded, facts })
    }
}

/// Loads a module, unless that failed before for a reason that does not depend on the limits or the moment.
pub(crate) fn unloadable_once<T>(module: &Module, load: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    if let Some(error) = module.unloadable.get() {
        return Err(RunError::Unloadable(Arc::clone(error)));
    }
    load().map_err(|error| match error {
        RunError::Wasm(error @ (WasmError::Compile(_) | WasmError::NewerWasi(_) | WasmError::Link(_))) => {
            RunError::Unloadable(Arc::clone(module.unloadable.get_or_init(|| Arc::new(error))))
        }
        error => error,
    })
}

/// Returns the bytes of a module that has to be compiled.
pub(crate) fn bytes(module: &Module) -> Result<&[u8], RunError> {
    Ok(module.bytes()?)
}
