//! The integration tests that need nothing but Rust, a C compiler and Python: the real binary, run on real files.
//!
//! `runner/docs/src/contribute/tests.md` says which test goes where; `oracle.rs` and `toolchains.rs` are the other tiers.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

// A guest sees what the contract promises, and its output becomes a result by the contract's rules.
mod wasm_contract;
// A guest reaches what was granted and nothing else.
mod wasm_files;
// What operators and arguments grant, and who said so.
mod policy;
// A guest ends at its limits, also inside host calls.
mod wasm_limits;
// What a guest makes the host hold is bounded.
mod host_memory;
// The guard around the file system: file grants, hostile surroundings, quotas and denials.
mod wasm_guard;
mod wasm_guard_hostile;
mod wasm_guard_limits;
mod wasm_guard_own;
mod wasm_guard_runs;
// Modes and owners of files.
mod wasm_attributes;
mod wasm_commands;
// A guest reaches the hosts and ports that were granted, by sockets and by HTTP, and no others.
mod wasm_http;
mod wasm_network;

// `modbox run` confines itself, and says how far.
mod kernel;
// The kernel's walls by themselves, with no engine before them.
mod kernel_walls;
// System calls behind them.
mod kernel_calls;
mod kernel_lists;

// The sandbox of native modules by itself, with real processes.
mod native_sandbox;
// What a confined native module reaches, by whichever language; that it ends; and single files that it writes.
mod native_grants;
mod native_groups;
mod native_limits;
mod native_names;
// What arguments name is granted to it; and what happens on kernels that give less.
mod native_designation;
mod native_ladder;
// Building guest crates and making projects, with real cargo.
mod authoring;

// Files that are no modules, or try to be what they are not.
mod hostile_modules;
// Classic kinds: denied by default, and bounded like guests when allowed.
mod native_modules;

// What holds for every input.
mod properties;

// `uri` and `get_url` and servers that mean harm, or are not granted.
mod web_modules;

// Jobs outlive their caller, end at their limit, and are asked about.
mod jobs;
// Many runs in warm workers: every line is answered once.
mod batch;

// Compiling is bounded, happens without authority, and survives every damaged module.
mod compile;
// Compiled code is kept, checked and thrown away.
mod cache;
// A line for every run, and no run without one.
mod audit;
mod audit_batch;
// What modbox says of its own work, when asked.
mod logs;
// Signals leave nothing behind.
mod signals;

// README and the book: what they show is what happens.
mod documents;
// Golden cases of the command line; drop a file into `cli/`.
mod cli;
// The house rules that a program can check.
mod tidy;
mod tidy_documents;
// Which file imports which.
mod house;
