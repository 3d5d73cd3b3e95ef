//! The worker's side of compiling: a process that reads a module from standard input, writes machine code to standard
//! output, and can do nothing else.
//!
//! It confines itself first and reads the module after that. An error text goes to standard error; the exit status says
//! what the text is about.

use std::ffi::OsString;
use std::process::ExitCode;

use rustix::fd::BorrowedFd;

use crate::compile::bounds::Bounds;
use crate::compile::confine;
use crate::compile::translate::{Refusal, machine_code};

/// The argument that makes modbox the compile worker.
pub const COMPILE_WORKER: &str = "__compile-worker";

/// Exit status: the code is on standard output; standard error lists the confinement that the kernel refused.
pub(super) const DONE: i32 = 0;

/// Exit status: the module is not valid; standard error says why.
pub(super) const INVALID: i32 = 1;

/// Exit status: the memory limit was too low.
pub(super) const NO_MEMORY: i32 = 2;

/// Exit status: the worker could not do its work; standard error says why.
pub(super) const NOT_STARTED: i32 = 3;

/// Exit status: the module is for a newer WASI; standard error has the interface that says so, and nothing else.
pub(super) const NEWER_WASI: i32 = 4;

/// Size of one read from standard input.
const CHUNK: usize = 64 << 10;

/// Runs the compile worker: the `modbox` program, started with [`COMPILE_WORKER`] and these arguments.
#[must_use]
pub fn main(args: &[OsString]) -> ExitCode {
    // A report does not need the source location of a panic. The panic itself ends this process.
    std::panic::set_hook(Box::new(|panic| {
        let _ = write_all(rustix::stdio::stderr(), panic.payload_as_str().unwrap_or("panic").as_bytes());
    }));
    let (status, text) = work(args);
    // Fails only if the parent no longer reads.
    let _ = write_all(rustix::stdio::stderr(), text.as_bytes());
    ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
}

fn work(args: &[OsString]) -> (i32, String) {
    let Some(bounds) = Bounds::of_args(args) else {
        return (NOT_STARTED, "this command is only for modbox itself".to_owned());
    };
    let refused = match confine::give_up_authority(&bounds) {
        Ok(refused) => refused.join("; "),
        Err(error) => return (NOT_STARTED, modbox_vocabulary::error_chain(&error)),
    };
    let module = match read_all(rustix::stdio::stdin()) {
        Ok(module) => module,
        Err(error) => return (NOT_STARTED, format!("failed to read the module: {error}")),
    };
    match machine_code(&module, bounds.format, bounds.threads > 1) {
        Ok(code) => match write_all(rustix::stdio::stdout(), &code) {
            Ok(()) => (DONE, refused),
            Err(error) => (NOT_STARTED, format!("failed to return the machine code: {error}")),
        },
        Err(Refusal::Invalid(text)) => (INVALID, text),
        Err(Refusal::NewerWasi(newer)) => (NEWER_WASI, newer.interface().to_owned()),
        Err(Refusal::Memory) => (NO_MEMORY, String::new()),
    }
}

fn read_all(input: BorrowedFd<'_>) -> rustix::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        bytes.resize(start + CHUNK, 0);
        let length = rustix::io::retry_on_intr(|| rustix::io::read(input, &mut bytes[start..]))?;
        bytes.truncate(start + length);
        if length == 0 {
            return Ok(bytes);
        }
    }
}

fn write_all(output: BorrowedFd<'_>, mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        let length = rustix::io::retry_on_intr(|| rustix::io::write(output, bytes))?;
        bytes = &bytes[length..];
    }
    Ok(())
}
