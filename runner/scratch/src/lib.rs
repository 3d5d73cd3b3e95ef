//! What a run leaves on the disk for its time: its directory, and the sweeping of those that a killed process left.
//!
//! A [`ScratchRoot`] is the folder of one user below the system's folder for temporary files; a [`Scratch`] is a directory in
//! it, gone when it is dropped or when a signal ends the process. A [`RunDir`] is the directory of one run, made when it is
//! first needed. This crate knows nothing of modules or policies.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod run_dir;
mod scratch;

pub use run_dir::RunDir;
pub use scratch::{LEFTOVER_PREFIX, Scratch, ScratchError, ScratchRoot, Use};
