//! The engine's configuration. There is only this one.
//!
//! Every feature that lets a guest reach more of the engine and that no WASI 0.2 module needs is off: garbage
//! collection, exceptions, threads, 64-bit memories, stack switching, component-model async. About half of a year's
//! Wasmtime advisories need one of these. The cargo features `gc` and `threads` stay compiled in: builds without them
//! abort on some inputs (GHSA-rc4p, GHSA-2674).

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig};

/// Stack for wasm frames. Deep recursion traps at this size within milliseconds instead of using up memory.
const WASM_STACK: usize = 512 << 10;

/// Stack of the fiber that runs a guest: [`WASM_STACK`] and the stack that host calls need above it.
const FIBER_STACK: usize = 2 << 20;

/// Most frames in the backtrace of a trap. More would only make a report longer.
const BACKTRACE_FRAMES: NonZeroUsize = NonZeroUsize::new(8).expect("eight is not zero");

/// Source of the memory of instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instances {
    /// From the system, for each instance. For a module that runs once.
    #[default]
    OnDemand,
    /// From a pool that keeps mappings for the next instance. For one module that runs many times, and for no other:
    /// if the pool failed to clear memory, the module would see only data of its own earlier runs.
    Pooled,
}

/// Number of instances that a pool has room for. Further runs get their memory on demand. An unused place costs only
/// address space.
const POOL_PLACES: u32 = 8;

/// Most memories, tables and core instances of one component: a guest has one or two, and the adapter's are added.
const POOL_PER_COMPONENT: u32 = 4;

/// Bytes of an instance that stay resident for the next one: clearing them costs less than mapping them again.
const POOL_RESIDENT: usize = 4 << 20;

/// Returns the pool for a module that runs many times, or `None` if a pool would not pay on this machine: without the
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

/// Role of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs compiled code. Without a compiler, an engine is created in a tenth of the time.
    Run(Instances),
    /// Compiles.
    Compile {
        /// Whether to compile with several threads.
        parallel: bool,
    },
}

/// Creates an engine. A `Run` engine accepts the code of a `Compile` engine, because all settings that the code depends
/// on are the same.
///
/// # Errors
///
/// Fails if this machine lacks something that the engine needs; for a pool, if there is too little address space.
pub(super) fn new_engine(role: Role) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        .wasm_backtrace_max_frames(Some(BACKTRACE_FRAMES))
        .generate_address_map(false)
        // Only debuggers need it. It would be registered with the unwinder function by function, at every start.
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
