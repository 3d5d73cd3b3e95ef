//! Functions that modbox offers to its guests beyond WASI: `modbox:host/files` for modes and owners of files,
//! `modbox:host/file-changes` for what else WASI lacks of files, and `modbox:host/process` for other programs. `modbox:host/tls` is for guests without a TLS of their own; Rust has
//! `wasi:http`, so that nothing here calls it.
//!
//! The interfaces are in `wit`, with copies of the WASI interfaces that they use. A component that calls a function of
//! an interface imports it and runs only on modbox: WebAssembly has no optional imports, and other hosts refuse the
//! component and name the interface. So these functions need the feature `calls`, and the SDK enables it only with
//! certain features of its own. `write_error` calls nothing but WASI. For targets other than WebAssembly, the crate is
//! empty.

#![deny(missing_docs)]

#[cfg(all(target_family = "wasm", feature = "calls"))]
mod bindings;
#[cfg(target_family = "wasm")]
mod directories;
#[cfg(all(target_family = "wasm", feature = "calls"))]
pub mod file_changes;
#[cfg(all(target_family = "wasm", feature = "calls"))]
pub mod files;
#[cfg(any(test, target_family = "wasm"))]
mod preopen;
#[cfg(all(target_family = "wasm", feature = "calls"))]
pub mod process;
#[cfg(target_family = "wasm")]
pub mod write_error;
