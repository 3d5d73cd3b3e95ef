//! What modbox offers to its guests beyond WASI, as Rust functions: `modbox:host/files`, the modes and owners of files, and
//! `modbox:host/process`, other programs.
//!
//! The interfaces themselves are in `wit`, beside copies of the WASI texts that they stand on. A component that calls anything
//! of one in here imports it and so runs on modbox only: WebAssembly knows no optional imports, and other hosts refuse the
//! component by the interface's name. So the SDK has this crate behind features. Built for anything but
//! WebAssembly there is nothing in here.

#![deny(missing_docs)]

#[cfg(target_family = "wasm")]
mod bindings;
#[cfg(target_family = "wasm")]
pub mod files;
#[cfg(any(test, target_family = "wasm"))]
mod preopen;
#[cfg(target_family = "wasm")]
pub mod process;
