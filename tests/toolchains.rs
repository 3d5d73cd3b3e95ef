//! The integration tests that need compilers to WebAssembly for C, Go, Python and JavaScript, or a browser.
//!
//! They install those from PyPI, npm and Debian below the target directory.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

#[path = "agents/toolchains.rs"]
mod agents;
#[path = "authoring/toolchains.rs"]
mod authoring;
#[path = "cli/toolchains.rs"]
mod cli;
#[path = "house/toolchains.rs"]
mod house;
#[path = "plays/toolchains.rs"]
mod plays;
#[path = "run/toolchains.rs"]
mod run;
