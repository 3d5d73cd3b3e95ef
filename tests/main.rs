//! The integration tests of modbox: the real binary, run on real files.
//!
//! `README.md` beside this file says which test goes where.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

// What the tests stand on: a directory for each, the modbox command, guests, the real Ansible.
mod support;

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

// Archives that try to leave the folder that they are unpacked into.
mod hostile_archives;
// Files that are no modules, or try to be what they are not.
mod hostile_modules;
// Classic kinds: denied by default, and bounded like guests when allowed.
mod native_modules;

// What holds for every input.
mod properties;

// New-style PowerShell is handed what ansible-core would hand to it.
mod powershell;
// Modules in other languages than Rust, built by their own tools.
mod languages;
// The same module in many languages and kinds.
mod polyglot;
// CPython and ansible-core, asked case by case about the pure parts of the contract.
mod oracle_contract;
// ansible-core's validator, asked about its modules' specs and about generated ones.
mod oracle_argument_spec;
// Modes as the SDK reads them.
mod oracle_modes;
// What ansible-core registers for an output, key by key.
mod oracle_results;
// The contracts of three releases: what modules are told, what is written into them, what their output becomes.
mod oracle_releases;
// The real ansible-core is right: the same files through it and through modbox.
mod oracle_playbook;
// The example modules do what ansible-core's modules of the same names do.
mod modules;
// `uri` and `get_url` and servers that mean harm, or are not granted.
mod web_modules;

// New-style Python: what is packed is what ansible-core packs.
mod python_closure;
// Ansible's own modules give the same results and leave the same files.
mod python_modules;
// Interpreters, arguments, the cache, and modules that are not as they should be.
mod python_runs;
// In their confinement, by each way to start one.
mod python_confined;

// Jobs outlive their caller, end at their limit, and are asked about by us and by Ansible.
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

// Golden cases of the command line; drop a file into `cli/`.
mod cli;
// The house rules that a program can check.
mod tidy;
