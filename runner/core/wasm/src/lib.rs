//! Runs WebAssembly guests. This is the only crate that uses Wasmtime: engine, compiled code, store, instance, outcome.
//!
//! Compiled code comes from a [`CodeSource`]. A [`GuestWorker`] runs it in a confined process; a [`Loader`] runs it in
//! the caller's own process, whose only boundary is the engine.
//!
//! Three clocks limit a guest's time. The epoch ticker interrupts wasm code. A timer of the runtime cancels a host call
//! that waits. And the monitor kills a worker in which a host call blocks. So a guest that sleeps or blocks ends at its
//! limit, like one that spins.

#![deny(missing_docs)]

mod adapter;
mod bindings;
mod cache;
mod code;
mod compile;
mod compile_limit;
mod engine;
mod error;
mod files;
mod guest;
mod link;
mod loader;
mod memory_size;
mod module;
mod net;
mod newer_wasi;
mod output;
mod plugins;
mod process;
mod run_clock;
mod store;
mod system_log;
mod target;
mod ticker;
mod unreached;
mod wasi;
mod worker;

pub use self::cache::{CacheEntry, CompileCache, DEFAULT_MAX_CACHE};
pub use self::code::{CodeFacts, CodeRequest, CodeSource};
pub use self::compile::worker::{COMPILE_WORKER, main as worker_main};
pub use self::compile::{Compiler, check_size};
pub use self::compile_limit::CompileLimit;
pub use self::engine::Instances;
pub use self::error::WasmError;
pub use self::loader::Loader;
pub use self::module::{GuestInput, LoadedModule, RunContext};
pub use self::newer_wasi::NewerWasi;
pub use self::plugins::{MAX_PLUGIN_MESSAGE, PluginChannel};
pub use self::system_log::SystemLog;
pub use self::worker::{
    AttendError, AttendedRun, ConfinementOrder, GuestEvent, GuestOrder, GuestSetup, GuestWorker, RunDirectory, RunEnd,
    RunProgress, START_PATIENCE, StartedWorker, attend, attend_run, attend_start, serve,
};
