//! modbox runs automation modules that nobody has to trust.
//!
//! A module is a program that gets a JSON object of arguments and prints a JSON object as its result:
//! Ansible's module contract. modbox runs modules compiled to WASI components on Wasmtime, in a filesystem
//! that holds only what was granted, and the classic kinds natively.
//!
//! # How a run goes
//!
//! `cli` reads the command line and makes a [`run::RunRequest`]. [`run::Runner`] asks `kinds` what the bytes are and
//! for the [`sandbox::invocation::Invocation`] of that kind, has `sandbox` run it under a
//! [`sandbox::policy::Policy`] and [`sandbox::limits::Limits`], and gives the
//! [`sandbox::invocation::Outcome`] to `contract`, which turns what was printed into a
//! [`contract::ModuleResult`]. A [`run::Report`] says how it went.
//!
//! # Layers
//!
//! | layer | what it knows | may name |
//! |---|---|---|
//! | [`contract`] | what crosses the boundary to a module; pure | nothing here |
//! | [`ansiballz`] | a Python module with all that it imports; pure | `contract` |
//! | [`kinds`] | what sort of module, and how it is started; pure | `ansiballz`, `contract`, `sandbox::invocation` |
//! | [`sandbox`] | how a module is confined; starts it | nothing here |
//! | [`run`] | one run, from file to report | all above |
//! | [`batch`] | many runs, in warm worker processes | all above |
//! | [`jobs`] | runs that outlive their caller | `contract`, `sandbox` |
//! | [`cli`] | the command line | everything |
//!
//! # Invariants
//!
//! 1. Untrusted bytes become a process or an instance only inside `sandbox`.
//! 2. Nothing is reachable unless a `Policy` value says so, and the default one says nothing.
//! 3. What a module prints is an allegation until `contract::result` has accepted it.
//! 4. Only `cli` prints, exits, or reads the command line and the environment.
//! 5. `contract`, `ansiballz` and `kinds` do no I/O, so that their tests need no sandbox.
//! 6. Wasmtime is named only under `sandbox::wasm`.
//! 7. A new kind, command or limit is one file and one line in a list.
//!
//! A test in `tests/house.rs` holds the directions, and that no files import each other in a circle. `modbox-authoring`, which makes
//! components of projects, is a crate of its own that only `cli` uses; `modbox-cleanup`, the list of what a signal must undo, serves
//! both. The argument-spec library is shared with the guest SDK; what a guest says that it validated is never relied upon.

#![deny(missing_docs)]

pub use modbox_contract as contract;

pub mod ansiballz;
pub mod batch;
pub mod cli;
pub mod jobs;
pub mod kinds;
pub mod run;
pub mod sandbox;
