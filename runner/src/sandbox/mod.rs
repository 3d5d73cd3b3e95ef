//! How a module is confined. The only layer that turns untrusted bytes into a running thing.
//!
//! `policy`, `limits` and `invocation` are data; `accounts` knows names of users; `scratch`, `run_dir` and `cleanup` own what a run leaves on
//! the disk; `wasm` and `native` run. What counts as an escape: a guest that reads, writes or learns of a
//! host file outside its grants, outlives its run, or makes the host exceed a declared limit. What does
//! not: using up what was granted.

pub mod accounts;
pub mod command;
pub mod invocation;
pub mod kernel;
pub mod limits;
pub mod native;
pub mod policy;
pub mod run_dir;
pub mod scratch;
pub mod wasm;

pub use modbox_cleanup as cleanup;

use std::error::Error;

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
