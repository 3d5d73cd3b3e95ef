//! The engine's compiler, and the adapter for core modules.

use std::io;

use modbox_vocabulary::WasmFormat;

use crate::newer_wasi::NewerWasi;
use crate::{adapter, engine};

/// Why a module cannot be compiled.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The module is not valid.
    Invalid(String),
    /// The module is for a newer WASI than modbox runs.
    NewerWasi(NewerWasi),
    /// The memory limit was too low.
    Memory,
}

impl Refusal {
    /// Classifies an error of the engine.
    pub(super) fn of(error: wasmtime::Error) -> Self {
        let is_memory = |cause: &(dyn std::error::Error + 'static)| {
            let no_memory = |error: &io::Error| error.raw_os_error() == Some(libc::ENOMEM);
            cause.is::<wasmtime::OutOfMemory>() || cause.downcast_ref().is_some_and(no_memory)
        };
        if error.chain().any(is_memory) { Self::Memory } else { Self::Invalid(format!("{error:#}")) }
    }
}

/// Compiles a module. Only this function passes a module to the adapter and to the engine's compiler.
pub(super) fn machine_code(bytes: &[u8], format: WasmFormat, parallel: bool) -> Result<Vec<u8>, Refusal> {
    if let Some(newer) = NewerWasi::find(bytes) {
        return Err(Refusal::NewerWasi(newer));
    }
    let engine = engine::new_engine(engine::Role::Compile { parallel }).map_err(Refusal::of)?;
    match format {
        WasmFormat::Component => engine.precompile_component(bytes).map_err(Refusal::of),
        WasmFormat::Core => {
            let component = adapter::componentize(bytes).map_err(|error| Refusal::Invalid(format!("{error:#}")))?;
            engine.precompile_component(&component).map_err(Refusal::of)
        }
    }
}
