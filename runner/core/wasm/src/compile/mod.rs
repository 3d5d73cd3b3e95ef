//! Compilation of modules, in a confined process. The engine makes no promises about compiling: a module of 100 kB can
//! take minutes and gigabytes, and the compiler is a large program that reads untrusted input.
//!
//! So modbox starts itself again as a compile worker. The worker gives up all authority before it reads the first byte
//! (`confine`), has limits of time and memory, and returns machine code or a short error text (`worker`). It also wraps
//! core modules in their adapter. The parent (`process`) starts the worker, sends it the module, waits at most until
//! the time limit, and kills the worker when a signal ends modbox.
//!
//! The code is as trustworthy as the process that made it. A module that takes over the compiler can choose its own
//! machine code, and so what runs when that module is run. It cannot reach the cache entry of any other module, and the
//! confinement that modbox enters before it runs a guest holds for that code too.
//!
//! A program that uses modbox as a library and names no worker program compiles in its own process. Then only the size
//! of a module is limited, and neither time nor memory.

mod bounds;
pub(crate) mod code;
mod confine;
mod process;
mod translate;
pub(crate) mod worker;

use std::io::Write;
use std::path::PathBuf;

use modbox_cleanup::Cleanup;
use modbox_vocabulary::Limits;

use crate::compile::code::{Compiled, Source, memory_file, seal};
use crate::compile::translate::{Refusal, machine_code};
use crate::compile_limit::CompileLimit;
use crate::error::WasmError;

/// Refuses a module that is too large; call it before the module is read.
///
/// # Errors
///
/// Returns [`CompileLimit::Module`].
pub fn check_size(bytes: u64, limits: &Limits) -> Result<(), WasmError> {
    let allowed = limits.max_module;
    if bytes > allowed { Err(WasmError::Limit(CompileLimit::Module { bytes, allowed })) } else { Ok(()) }
}

/// The place where modules are compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// A separate process: the modbox program at this path.
    Worker(PathBuf),
    /// This process. Neither time nor memory is limited.
    InProcess,
}

impl Compiler {
    /// Compiles a module.
    pub(super) fn compile(
        &self,
        source: &Source<'_>,
        limits: &Limits,
        cleanup: &Cleanup,
    ) -> Result<Compiled, WasmError> {
        match self {
            Self::Worker(worker) => process::compile(worker, source, limits, cleanup),
            Self::InProcess => {
                let compiled = std::panic::catch_unwind(|| machine_code(source.bytes, source.format, true));
                let panicked = |_| WasmError::Crashed("it panicked".to_owned());
                let code = compiled.map_err(panicked)?.map_err(|refusal| match refusal {
                    Refusal::Invalid(text) => WasmError::Compile(text.into()),
                    Refusal::NewerWasi(newer) => WasmError::NewerWasi(newer),
                    Refusal::Memory => WasmError::Limit(CompileLimit::Memory(limits.compile_memory)),
                })?;
                let hand_over = |source| WasmError::Compiler { verb: "pass code to", source };
                let mut file = memory_file().map_err(hand_over)?;
                file.write_all(&code).map_err(hand_over)?;
                Ok(Compiled { code: seal(file).map_err(hand_over)?, note: None })
            }
        }
    }
}
