//! A module's bytes and its machine code, in files that exist only in memory.

use std::fs::File;
use std::io::{self, Seek};

use modbox_vocabulary::WasmFormat;
use rustix::fs::{MemfdFlags, SealFlags};

/// The largest machine code that is accepted from the compiler, and so the limit on a cache entry.
pub(crate) const MAX_CODE: u64 = 2 << 30;

/// A module to compile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) format: WasmFormat,
}

/// The engine's machine code for one module.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// A memory file with the code only, sealed against every change.
    pub(crate) code: File,
    /// The parts of the worker's confinement that the kernel refused, if any.
    pub(crate) note: Option<String>,
}

/// Creates a file that exists only in memory.
pub(super) fn memory_file() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Some kernels require a flag for whether the file may be executed; older ones do not know the flag.
    match rustix::fs::memfd_create("modbox", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(rustix::io::Errno::INVAL) => Ok(rustix::fs::memfd_create("modbox", flags)?.into()),
        file => Ok(file?.into()),
    }
}

/// Seals the file, so that no process can change it through any descriptor, and rewinds it.
pub(super) fn seal(mut file: File) -> io::Result<File> {
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    file.rewind()?;
    Ok(file)
}
