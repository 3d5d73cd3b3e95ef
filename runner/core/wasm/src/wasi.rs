//! Builds the WASI context of a policy: environment, network, streams. `files` implements the file calls.

use std::sync::Arc;

use modbox_policy::Policy;
use modbox_vocabulary::WasmProgram;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::files::WORKING;
use crate::net::Network;
use crate::output::HeadStream;

/// Most random bytes per call. The host allocates as many, and a larger request ends the guest. No guest needs a
/// megabyte at once, but a program may fill a buffer.
pub(super) const MAX_RANDOM: u64 = 4 << 20;

/// Creates the context of one run. A guest has only what is set here.
pub(super) fn context(
    program: &WasmProgram,
    stdin: Vec<u8>,
    policy: &Policy,
    network: &Arc<Network>,
    stdout: HeadStream,
    stderr: HeadStream,
) -> WasiCtx {
    let mut builder = WasiCtxBuilder::new();
    // Blocking is safe: file calls may block the guest's thread, see `guest`.
    builder.allow_blocking_current_thread(true);
    builder.args(&program.argv).initial_cwd(WORKING).max_random_size(MAX_RANDOM);
    builder.stdin(MemoryInputPipe::new(stdin)).stdout(stdout).stderr(stderr);
    for variable in policy.env() {
        builder.env(&variable.name, &variable.value);
    }
    network.open(&mut builder);
    builder.build()
}
