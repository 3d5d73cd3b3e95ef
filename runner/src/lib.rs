//! modbox runs automation modules in a sandbox.
//!
//! A module is a program that takes a JSON object of arguments and returns a JSON object as its result: Ansible's module
//! contract. modbox runs modules that are WASI components on Wasmtime, and the classic kinds natively inside Linux
//! namespaces. Either way a module can use only the files, hosts and commands that were granted.
//!
//! # How a run goes
//!
//! [`cli`] reads the command line and makes a [`modbox_run::RunRequest`]. [`modbox_run::Runner`] has `modbox-kinds` tell what the
//! bytes are and make the `Invocation` of that kind, has `modbox-wasm` or `modbox-native` run it in a worker process under a
//! `Policy` and `Limits`, and gives the `Outcome` to `modbox-contract`, which turns what was printed into a `ModuleResult`. A
//! [`modbox_run::Report`] says how it went. The process that does all this is the monitor: it keeps its authority, and no
//! module runs in it.
//!
//! This package is the program: arguments, settings, commands, output. `runner/README.md` is a map of the crates below it, and
//! the page *Architecture* of the book has the rules that hold in all of them.

#![deny(missing_docs)]

pub mod cli;
