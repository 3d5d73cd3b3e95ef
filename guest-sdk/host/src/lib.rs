//! What modbox offers to its guests beyond WASI, as Rust functions: `modbox:host/files`, the modes and owners of files.
//!
//! The interface itself is `wit/files.wit`, beside copies of the WASI texts that it stands on. A component that calls anything
//! in here imports the interface and so runs on modbox only: WebAssembly knows no optional imports, and other hosts refuse the
//! component by the interface's name. So the SDK has this crate behind a feature. Built for anything but
//! WebAssembly there is nothing in here.

#![deny(missing_docs)]

#[cfg(target_family = "wasm")]
mod bindings;
#[cfg(target_family = "wasm")]
pub mod files;
