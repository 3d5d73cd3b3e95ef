//! Temporary directories of runs, and the sweep of those that killed processes left.
//!
//! A [`ScratchRoot`] is one user's folder below the system's folder for temporary files. A [`Scratch`] is a directory
//! in it, which is removed when it is dropped or when a signal ends the process. A [`RunDir`] is the directory of one
//! run. This crate contains nothing about modules or policies.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod directory_name;
mod error;
mod private_folder;
mod removal;
mod run_dir;
mod scratch;

pub use directory_name::LEFTOVER_PREFIX;
pub use error::ScratchError;
pub use run_dir::RunDir;
pub use scratch::{DirPurpose, Scratch, ScratchRoot};
