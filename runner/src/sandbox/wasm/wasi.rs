//! Turns a policy into a WASI context: preopened directories, environment, network. Nothing else.

use std::path::PathBuf;
use std::sync::Arc;

use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

use crate::sandbox::invocation::WasmProgram;
use crate::sandbox::policy::{Access, Policy};
use crate::sandbox::scratch::GuestDirs;
use crate::sandbox::wasm::WasmError;
use crate::sandbox::wasm::net::Network;
use crate::sandbox::wasm::output::HeadStream;

/// Random bytes that one call may ask for; the host allocates as many.
const MAX_RANDOM: u64 = 64 << 10;

/// Makes the context of one run. What is not named here does not exist for the guest.
///
/// # Errors
///
/// A granted directory that cannot be opened.
pub(super) fn context(
    program: &WasmProgram,
    stdin: Vec<u8>,
    policy: &Policy,
    dirs: &GuestDirs,
    network: &Arc<Network>,
    stdout: HeadStream,
    stderr: HeadStream,
) -> Result<WasiCtx, WasmError> {
    let mut builder = WasiCtxBuilder::new();
    // The guest has a thread of its own to block. To be said before the first directory, which takes it over.
    builder.allow_blocking_current_thread(true);
    builder.args(&program.argv).initial_cwd("/tmp").max_random_size(MAX_RANDOM);
    builder.stdin(MemoryInputPipe::new(stdin)).stdout(stdout).stderr(stderr);
    for variable in policy.env() {
        builder.env(&variable.name, &variable.value);
    }
    preopen(&mut builder, dirs.args.clone(), "/args", FsPerms::ReadOnly)?;
    if !policy.allows_everything() {
        preopen(&mut builder, dirs.tmp.clone(), "/tmp", FsPerms::ReadWrite)?;
    }
    for grant in policy.paths() {
        let perms = match grant.access {
            Access::Read => FsPerms::ReadOnly,
            Access::Write => FsPerms::ReadWrite,
        };
        preopen(&mut builder, grant.host.clone(), &grant.guest, perms)?;
    }
    network.open(&mut builder);
    Ok(builder.build())
}

fn preopen(builder: &mut WasiCtxBuilder, host: PathBuf, guest: &str, perms: FsPerms) -> Result<(), WasmError> {
    match builder.preopened_dir(&host, guest, perms) {
        Ok(_) => Ok(()),
        Err(source) => Err(WasmError::Open { path: host, source: source.into() }),
    }
}
