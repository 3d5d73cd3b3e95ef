//! The integration tests that need only Rust, a C compiler and Python. They run the real binary on real files.
//!
//! `runner/docs/src/contribute/tests.md` says where to put a test. `oracle.rs` and `toolchains.rs` are the other tiers.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

mod agents;
mod ansible;
#[path = "core/native/attempts_of_root.rs"]
mod attempts_of_root;
mod authoring;
mod cli;
mod core;
mod house;
mod layers;
mod modules;
mod plays;
mod providers;
mod python;
mod run;
#[path = "run/secret_hunt.rs"]
mod secret_hunt;
mod supply;
mod twin;
