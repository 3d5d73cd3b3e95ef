//! The one engine configuration.
//!
//! Everything that widens what a guest can reach inside the engine and that no WASI 0.2 module needs is
//! off: garbage collection, exceptions, threads, 64-bit memories, stack switching, component-model async.
//! About half of a year's Wasmtime advisories need one of these. The cargo features `gc` and `threads`
//! stay compiled in all the same: builds without them abort on some inputs (GHSA-rc4p, GHSA-2674).

use std::num::NonZeroUsize;

use wasmtime::{Config, Engine};

/// Stack for wasm frames: deep recursion traps here, in milliseconds, instead of eating memory.
const WASM_STACK: usize = 512 << 10;

/// Stack of the fiber that a guest runs on: [`WASM_STACK`] and what host calls need above it.
const FIBER_STACK: usize = 2 << 20;

/// Frames in the backtrace of a trap. More would only make a report longer.
const BACKTRACE_FRAMES: NonZeroUsize = NonZeroUsize::new(8).expect("eight is not zero");

/// Makes the engine that every guest runs in.
pub(super) fn new_engine() -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        .wasm_backtrace_max_frames(Some(BACKTRACE_FRAMES))
        .generate_address_map(false)
        .shared_memory(false)
        .concurrency_support(false)
        .wasm_gc(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .wasm_threads(false)
        .wasm_memory64(false)
        .wasm_stack_switching(false)
        .relaxed_simd_deterministic(true);
    Engine::new(&config)
}
