//! modbox runs automation modules in a sandbox.
//!
//! A module is a program that takes a JSON object of arguments and returns a JSON object as its result: Ansible's module
//! contract. modbox runs modules that are WASI components on Wasmtime, and the classic kinds natively inside Linux
//! namespaces. Either way a module can use only the files, hosts and commands that were granted.
//!
//! # How a run goes
//!
//! `cli` reads the command line and makes a [`app::RunRequest`]. [`app::Runner`] has `modbox-kinds` tell what the bytes are and
//! make the `Invocation` of that kind, has `modbox-wasm` or `modbox-native` run it in a worker process under a `Policy` and
//! `Limits`, and gives the `Outcome` to `modbox-contract`, which turns what was printed into a `ModuleResult`. A
//! [`app::Report`] says how it went. The process that does all this is the monitor: it keeps its authority, and no module
//! runs in it.
//!
//! # Crates, the lowest first
//!
//! | crate | what it knows | depends on |
//! |---|---|---|
//! | `vocabulary` | grants, denials, limits, invocations, outcomes; no I/O | nothing |
//! | `channel` | frames, messages and descriptors between processes | nothing |
//! | `cleanup` | what a signal must undo | nothing |
//! | `collection` | collections of Ansible made of components; pure | nothing |
//! | `contract` | what crosses the boundary to a module; pure | `vocabulary` |
//! | `providers` | what a provider of libral says, is asked and prints; pure | `contract` |
//! | `kinds` | what sort of module some bytes are, and how it is started; pure | `contract`, `providers` |
//! | `policy` | what a run may reach | `vocabulary` |
//! | `scratch` | what a run leaves on the disk, and its removal | `cleanup` |
//! | `store` | results kept between runs: authenticated entries, locks, eviction | `cleanup` |
//! | `fleet` | tasks that a controller sends, and the modules kept for them | `contract`, `store` |
//! | `kernel` | what the Linux kernel lets a process do | `policy` |
//! | `worker` | how worker processes are started, watched and ended | `channel`, `kernel` |
//! | `yaml` | text that people wrote, which alone can be a template; pure | nothing |
//! | `inventory` | hosts, groups and their variables, as the operator wrote them; pure | `yaml` |
//! | `template` | templates of Ansible: values, lookups of data; pure | `yaml` |
//! | `tasks` | plays and tasks, actions around modules; no I/O of its own | `contract`, `inventory`, `template`, `yaml` |
//! | `wasm` | guests on Wasmtime, guest workers, compile workers | `kernel`, `policy`, `scratch`, `store`, `worker` |
//! | `native` | native modules in namespaces | `kernel`, `policy`, `scratch`, `worker` |
//! | `authoring` | from a project to a component | `cleanup` |
//! | `modbox` | [`app`]: one run, from file to report · [`batch`]: many runs, in warm workers · [`jobs`]: runs that outlive their caller · [`cli`]: the command line | all of them |
//!
//! # Invariants
//!
//! 1. Untrusted bytes become a process or an instance only inside `wasm` and `native`.
//! 2. Nothing is reachable unless a `Policy` value says so, and the default one says nothing.
//! 3. What a module prints is an allegation until `contract` has accepted it.
//! 4. Only `cli` prints, exits, or reads the command line and the environment.
//! 5. `vocabulary`, `contract`, `providers`, `kinds`, `policy`, `yaml`, `inventory`, `template` and `tasks` build and
//!    pass their tests without Wasmtime.
//! 6. Only `wasm` names Wasmtime. Only `kernel`, `native` and `wasm` have unsafe code.
//! 7. A new kind, command or limit is one file and one line in a list.
//!
//! Cargo holds the arrows between crates; `tests/house.rs` holds the manifests to this table, and no files import each
//! other in a circle. The argument-spec library is shared with the guest SDK; what a guest says that it validated is never
//! relied upon.

#![deny(missing_docs)]

pub mod app;
pub mod batch;
pub mod cli;
pub mod jobs;
