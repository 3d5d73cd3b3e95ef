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

mod confine;
mod process;
mod worker;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;

use modbox_cleanup::Cleanup;
use modbox_vocabulary::time::micros;
use modbox_vocabulary::{LimitHit, LimitKind, Limits, Unit, WasmFormat};
use rustix::fs::{MemfdFlags, SealFlags};

use self::worker::Refusal;
pub use self::worker::{COMPILE_WORKER, main as worker_main};
use super::{WasmError, adapter, engine};

/// The largest machine code that is accepted from the compiler, and so the limit on a cache entry.
pub(super) const MAX_CODE: u64 = 2 << 30;

/// A limit on compiling that a module passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompileLimit {
    /// The module itself is too large.
    #[error(
        "the module has {}, more than the limit of {}; `--max-module` sets another",
        size(*bytes), size(*allowed)
    )]
    Module {
        /// The module's size.
        bytes: u64,
        /// The largest size allowed.
        allowed: u64,
    },
    /// Compiling takes too long.
    #[error("the module takes longer to compile than the limit of {}; `--compile-time` sets another", time(*.0))]
    Time(Duration),
    /// Compiling takes too much memory.
    #[error("the module takes more memory to compile than the limit of {}; `--compile-memory` sets another", size(*.0))]
    Memory(u64),
}

fn size(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().iec().to_string()
}

fn time(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

impl CompileLimit {
    /// Returns the limit in the form of a report.
    #[must_use]
    pub fn hit(self) -> LimitHit {
        let (allowed, unit) = match self {
            Self::Module { allowed, .. } | Self::Memory(allowed) => (allowed, Unit::Bytes),
            Self::Time(allowed) => (micros(allowed), LimitKind::Compile.unit()),
        };
        LimitHit { kind: LimitKind::Compile, allowed, unit }
    }
}

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

/// A module to compile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) format: WasmFormat,
}

/// The engine's machine code for one module.
#[derive(Debug)]
pub(super) struct Compiled {
    /// A memory file with the code only, sealed against every change.
    pub(super) code: File,
    /// The parts of the worker's confinement that the kernel refused, if any.
    pub(super) note: Option<String>,
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
                    Refusal::Memory => WasmError::Limit(CompileLimit::Memory(limits.compile_memory)),
                })?;
                let hand_over = |source| WasmError::Compiler { verb: "hand over the code of", source };
                let mut file = memory_file().map_err(hand_over)?;
                file.write_all(&code).map_err(hand_over)?;
                Ok(Compiled { code: seal(file).map_err(hand_over)?, note: None })
            }
        }
    }
}

/// Compiles a module. Only this function passes a module to the adapter and to the engine's compiler.
fn machine_code(bytes: &[u8], format: WasmFormat, parallel: bool) -> Result<Vec<u8>, Refusal> {
    let engine = engine::new_engine(engine::Role::Compile { parallel }).map_err(Refusal::of)?;
    match format {
        WasmFormat::Component => engine.precompile_component(bytes).map_err(Refusal::of),
        WasmFormat::Core => {
            let component = adapter::componentize(bytes).map_err(|error| Refusal::Invalid(format!("{error:#}")))?;
            engine.precompile_component(&component).map_err(Refusal::of)
        }
    }
}

/// Creates a file that exists only in memory.
fn memory_file() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some kernels require a flag for whether the file may be executed; older ones do not know the flag.
    match rustix::fs::memfd_create("modbox", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(rustix::io::Errno::INVAL) => Ok(rustix::fs::memfd_create("modbox", flags)?.into()),
        file => Ok(file?.into()),
    }
}

/// Seals the file, so that no process can change it through any descriptor, and rewinds it.
fn seal(mut file: File) -> io::Result<File> {
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    file.rewind()?;
    Ok(file)
}
