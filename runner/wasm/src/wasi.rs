//! Turns a policy into a WASI context: environment, network, streams. Files are the guard's, see `files`.

use std::sync::Arc;

use modbox_policy::Policy;
use modbox_vocabulary::WasmProgram;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::net::Network;
use crate::output::HeadStream;

/// Random bytes that one call may ask for; the host allocates as many, and who asks for more ends there. Nobody needs a
/// megabyte at once, but a program may fill a buffer.
pub(super) const MAX_RANDOM: u64 = 4 << 20;

/// Makes the context of one run. What is not named here does not exist for the guest.
pub(super) fn context(
    program: &WasmProgram,
    stdin: Vec<u8>,
    policy: &Policy,
    network: &Arc<Network>,
    stdout: HeadStream,
    stderr: HeadStream,
) -> WasiCtx {
    let mut builder = WasiCtxBuilder::new();
    // The guest has a thread of its own to block.
    builder.allow_blocking_current_thread(true);
    builder.args(&program.argv).initial_cwd("/tmp").max_random_size(MAX_RANDOM);
    builder.stdin(MemoryInputPipe::new(stdin)).stdout(stdout).stderr(stderr);
    for variable in policy.env() {
        builder.env(&variable.name, &variable.value);
    }
    network.open(&mut builder);
    builder.build()
}
