//! The one engine configuration.
//!
//! Everything that widens what a guest can reach inside the engine and that no WASI 0.2 module needs is
//! off: garbage collection, exceptions, threads, 64-bit memories, stack switching, component-model async.
//! About half of a year's Wasmtime advisories need one of these. The cargo features `gc` and `threads`
//! stay compiled in all the same: builds without them abort on some inputs (GHSA-rc4p, GHSA-2674).

use std::num::NonZeroUsize;

use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig};

/// Stack for wasm frames: deep recursion traps here, in milliseconds, instead of eating memory.
const WASM_STACK: usize = 512 << 10;

/// Stack of the fiber that a guest runs on: [`WASM_STACK`] and what host calls need above it.
const FIBER_STACK: usize = 2 << 20;

/// Frames in the backtrace of a trap. More would only make a report longer.
const BACKTRACE_FRAMES: NonZeroUsize = NonZeroUsize::new(8).expect("eight is not zero");

/// Where an engine takes the memory of instances from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Instances {
    /// From the system, for each instance. For a module that runs once.
    #[default]
    OnDemand,
    /// From a pool that keeps what it mapped for the next instance. For one module that runs many times, and for one
    /// only: what a pool failed to clear could then only show a module its own past.
    Pooled,
}

/// Instances that a pool has room for at a time. More run on demand. Each place costs address space alone, until it
/// is used.
const POOL_PLACES: u32 = 8;

/// Memories, tables and core instances of one component: a guest has one or two of its own, and the adapter's.
const POOL_PER_COMPONENT: u32 = 4;

/// Bytes of an instance that stay resident for the next one; clearing them costs less than mapping them again.
const POOL_RESIDENT: usize = 4 << 20;

/// Returns the pool of a module that runs many times, when this machine has what makes a pool pay: without the
/// kernel's `PAGEMAP_SCAN`, resetting an instance costs more than mapping a new one.
fn pool() -> Option<PoolingAllocationConfig> {
    if !PoolingAllocationConfig::is_pagemap_scan_available() {
        return None;
    }
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(POOL_PLACES)
        .total_core_instances(POOL_PLACES * POOL_PER_COMPONENT)
        .total_memories(POOL_PLACES * POOL_PER_COMPONENT)
        .total_tables(POOL_PLACES * POOL_PER_COMPONENT)
        .total_stacks(POOL_PLACES)
        .max_memories_per_component(POOL_PER_COMPONENT)
        .max_tables_per_component(POOL_PER_COMPONENT)
        .linear_memory_keep_resident(POOL_RESIDENT)
        .table_keep_resident(POOL_RESIDENT)
        .pagemap_scan(Enabled::Yes);
    Some(pool)
}

/// What an engine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Running compiled code. Without a compiler an engine is made in a tenth of the time.
    Run(Instances),
    /// Compiling, on several processors if wanted.
    Compile {
        /// With threads.
        parallel: bool,
    },
}

/// Makes an engine. What one compiles the other runs: all settings that the code depends on are the same.
///
/// # Errors
///
/// A machine without what the engine needs; for a pool, too little address space.
pub(super) fn new_engine(role: Role) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        .wasm_backtrace_max_frames(Some(BACKTRACE_FRAMES))
        .generate_address_map(false)
        // For debuggers. Code with it would be registered with the unwinder function by function, at every start.
        .native_unwind_info(false)
        .shared_memory(false)
        .concurrency_support(false)
        .wasm_gc(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .wasm_threads(false)
        .wasm_memory64(false)
        .wasm_stack_switching(false)
        .relaxed_simd_deterministic(true);
    match role {
        Role::Compile { parallel } => {
            config.parallel_compilation(parallel);
        }
        Role::Run(instances) => {
            config.enable_compiler(false);
            if instances == Instances::Pooled {
                let pool = pool().ok_or_else(|| wasmtime::format_err!("this kernel has no PAGEMAP_SCAN"))?;
                config.allocation_strategy(pool);
            }
        }
    }
    Engine::new(&config)
}
