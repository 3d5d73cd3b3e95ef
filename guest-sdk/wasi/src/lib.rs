//! What a module does with WASI before its author's code runs: it reads the file of its arguments, and goes to where the
//! host says that it starts.
//!
//! The standard library can do both, by the C library's files. One of its functions brings the others with it, and so
//! some twenty functions of `wasi:filesystem` into a component that may never touch a file; the host decodes, checks
//! and links each of them at every start. This asks the host directly, for two of them. A module that uses `std::fs` by
//! itself has the C library's as before.
//!
//! Built for anything but WebAssembly there is nothing in here but the reading of paths.

#![deny(missing_docs)]

#[cfg(target_family = "wasm")]
mod directory;
#[cfg(target_family = "wasm")]
mod file;
mod preopen;

#[cfg(target_family = "wasm")]
pub use self::directory::enter_initial;
#[cfg(target_family = "wasm")]
pub use self::file::read;
pub use self::preopen::innermost;
