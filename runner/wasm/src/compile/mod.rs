//! Compiling, which the engine promises nothing about: a module of 100 kB can take minutes and gigabytes, and a
//! compiler is a large program that reads what a stranger wrote.
//!
//! So it happens in a process of its own: modbox, started again, that gives up all authority before it reads the
//! first byte (`confine`), under limits of time and memory, and that hands back machine code or a few words
//! (`worker`). Wrapping a core module in its adapter happens there as well. This side (`process`) starts it, feeds
//! it, waits for no longer than it may take, and kills it when a signal ends modbox.
//!
//! The code is as trustworthy as the process that made it. A module that takes the compiler over can decide what its
//! own code is, and so what runs when that module is run; the entry of no other module is in its reach, and what
//! modbox confines itself to before it runs a guest holds for that code, too.
//!
//! Who uses modbox as a library and names no program for the worker compiles in their own process: then only the
//! size of a module is limited, and neither time nor memory.

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
pub use self::worker::{WORD, main as worker_main};
use super::{WasmError, adapter, engine};

/// The largest machine code that is taken from the compiler, and so the largest entry of the cache.
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
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        allowed: u64,
    },
    /// It takes too long.
    #[error("the module takes longer to compile than the limit of {}; `--compile-time` sets another", time(*.0))]
    Time(Duration),
    /// It takes too much memory.
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
    /// Returns it as a report names it.
    #[must_use]
    pub fn hit(self) -> LimitHit {
        let (allowed, unit) = match self {
            Self::Module { allowed, .. } | Self::Memory(allowed) => (allowed, Unit::Bytes),
            Self::Time(allowed) => (micros(allowed), LimitKind::Compile.unit()),
        };
        LimitHit { kind: LimitKind::Compile, allowed, unit }
    }
}

/// Refuses a module that is too large, before anything of it is read.
///
/// # Errors
///
/// [`CompileLimit::Module`].
pub fn check_size(bytes: u64, limits: &Limits) -> Result<(), WasmError> {
    let allowed = limits.max_module;
    if bytes > allowed { Err(WasmError::Limit(CompileLimit::Module { bytes, allowed })) } else { Ok(()) }
}

/// What compiles.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// A process of its own: the modbox program at this path.
    Worker(PathBuf),
    /// This process. Neither time nor memory is limited.
    InProcess,
}

/// What is to be compiled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) format: WasmFormat,
}

/// The engine's machine code for one module.
#[derive(Debug)]
pub(super) struct Compiled {
    /// It and nothing else, in memory; nobody can change it any more.
    pub(super) code: File,
    /// What the kernel would not take from the worker, if anything.
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
                Ok(Compiled { code: sealed(file).map_err(hand_over)?, note: None })
            }
        }
    }
}

/// Compiles: the only place where a module meets the adapter and the engine's compiler.
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

/// Makes a file that exists in memory only.
fn memory_file() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some systems ask for a word on whether the file itself may be executed; older ones do not know the word.
    match rustix::fs::memfd_create("modbox", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(rustix::io::Errno::INVAL) => Ok(rustix::fs::memfd_create("modbox", flags)?.into()),
        file => Ok(file?.into()),
    }
}

/// Makes sure that nobody changes the file any more, whoever has it open, and goes to its beginning.
fn sealed(mut file: File) -> io::Result<File> {
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    file.rewind()?;
    Ok(file)
}
