//! Runs WebAssembly guests. This is the only crate that uses Wasmtime: engine, compiled code, store, instance, outcome.
//!
//! Three clocks limit a guest's time. The epoch ticker interrupts wasm code. A timer of the runtime cancels a host call
//! that waits. And the thread that started the guest stops waiting when a host call blocks. So a guest that sleeps or
//! blocks ends at its limit, like one that spins.

#![deny(missing_docs)]

mod adapter;
mod bindings;
mod cache;
mod compile;
mod engine;
mod error;
mod files;
mod guest;
mod link;
mod module;
mod net;
mod output;
mod process;
mod sandbox;
mod store;
mod target;
mod ticker;
mod wasi;

pub use self::cache::{CacheEntry, CompileCache, DEFAULT_MAX_CACHE};
pub use self::compile::limit::CompileLimit;
pub use self::compile::worker::{COMPILE_WORKER, main as worker_main};
pub use self::compile::{Compiler, check_size};
pub use self::engine::Instances;
pub use self::error::WasmError;
pub use self::module::{Host, LoadedModule};
pub use self::sandbox::WasmSandbox;
