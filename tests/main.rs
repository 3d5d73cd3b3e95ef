//! The integration tests that need only Rust, a C compiler and Python. They run the real binary on real files.
//!
//! `runner/docs/src/contribute/tests.md` says where to put a test. `oracle.rs` and `toolchains.rs` are the other tiers.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

// The contract for guests: their input, and how their output becomes a result.
mod wasm_contract;
// Components for a WASI that modbox does not run.
mod wasm_releases;
// A guest reaches only what is granted.
mod wasm_files;
// Also through links of the operator's.
mod granted_paths;
// The words of their errors.
mod error_words;
mod wasm_file_errors;
// What a build leaves out of components.
mod local_paths;
// Tasks that a controller sends.
mod task;
// Plays and templates: the real program, with modules of the play itself.
mod plays;
// Bad input, and what is said of it.
mod plays_bad_input;
mod plays_jobs;
mod plays_json;
mod plays_resources;
mod plays_settings;
mod plays_terminal;
// Inventories of plays, and the name `ansible-playbook`.
mod inventories;
mod plays_policy;
// Text that no author of a play wrote is never rendered.
mod plays_tree;
mod plays_unsafe;
// What operators and arguments grant, and the source of each grant.
mod policy;
// Who signed a module, and the most that it may then be granted.
mod trust;
mod trust_damage;
mod trust_parts;
mod trust_parts_damage;
mod trust_parts_kinds;
mod trust_place;
mod trust_shown;
// Modules in registries: pushed, pulled, locked and run by reference.
mod registry;
mod registry_lock;
mod registry_place;
mod registry_push;
mod registry_store;
// Registries: logins, hosts, and what trust rules say of what they send.
mod registry_hosts;
mod registry_junk;
mod registry_logins;
mod registry_offline;
mod registry_proxy;
mod registry_trust;
// Registries that fail or lie, and pulls that are interrupted.
mod registry_faults;
mod registry_interrupted;
mod registry_manifests;
// Registries: bundles, updates and the user's library.
mod registry_bundles;
mod registry_hostile_bundles;
mod registry_library;
mod registry_update;
// Policy files that trial runs teach.
mod learn;
// Previews and transactions: runs on layers over what they may write.
mod batch_layers;
mod batch_signals;
mod layers;
mod previews;
mod previews_of_plays;
mod saved;
mod transactions;
// Policy files made of reports and audit files.
mod suggest;
// A guest ends at its limits, also inside host calls.
mod wasm_limits;
// The host memory that a guest can use is bounded.
mod host_memory;
// The file system guard: file grants, hostile environments, quotas and denials.
mod wasm_guard;
mod wasm_guard_hostile;
mod wasm_guard_limits;
mod wasm_guard_own;
mod wasm_guard_runs;
// Random calls on random trees, by Linux and by a guest.
mod twin;
// Modes and owners of files.
mod wasm_attributes;
mod wasm_commands;
mod wasm_commands_tmp;
// What a run in check mode says about the real one.
mod check_mode;
// Changes that do not reach the machine fail the run.
mod wasm_lost;
// A guest reaches only the granted hosts and ports, by sockets and by HTTP.
mod wasm_http;
mod wasm_network;

// `modbox run` confines itself, and reports the confinement.
mod kernel;
// The kernel's confinement by itself, without the engine.
mod kernel_walls;
// The same with layers.
mod kernel_walls_hub;
// The system calls that it refuses.
mod kernel_calls;
mod kernel_lists;

// The sandbox of native modules by itself, with real processes.
mod native_sandbox;
// Confined native modules: what they reach in several languages, their limits, and single files that they write: with
// their attributes, and what is lost fails the run.
mod attempts_of_root;
mod native_attributes;
mod native_folders;
mod native_grants;
mod native_groups;
mod native_limits;
mod native_lost;
mod native_names;
mod native_others;
mod native_owners;
mod native_place;
mod native_programs;
mod native_refused;
mod native_root;
mod native_uncounted;
mod native_unseen;
// Full names of modules, and the places in which collections are found.
mod module_names;
// Native modules: grants by arguments, and confinement on kernels with fewer features.
mod native_designation;
mod native_ladder;
mod native_path_uses;
// Building guest crates and creating projects, with the real cargo.
mod authoring;
// The commands for authors beyond building.
mod author_commands;
// Which commands build a project, and when a directory counts as one.
mod projects;

// Files that are not modules, or that imitate another kind.
mod hostile_modules;
// Classic kinds: denied by default, and limited like guests when allowed.
mod native_modules;

// Providers of libral: real ones in bash, Python and Rust, confined, and hostile ones.
mod providers;
mod providers_check;
mod providers_failures;
mod providers_hostile;
mod providers_quoting;
mod providers_rules;
mod providers_shown;

// Properties that hold for every input.
mod properties;
// The seeds of the fuzz targets.
mod fuzz_seeds;
// Secrets of specs and tasks are in nothing that is printed or written.
mod secret_hunt;
mod secrets;

// Set-id bits are a grant, for native modules and components alike.
mod set_id;

// What modbox's own modules cannot do, they refuse before a change.
mod module_refusals;

// `uri` and `get_url` with servers that are hostile or not granted.
mod web_modules;

// Runs as another user have that user's rights.
mod become_user;

// Jobs outlive their caller, end at their limit, and report their status.
mod jobs;
// Many runs in warm workers: every line gets one report.
mod batch;
mod batch_changed;

// Compiling is bounded and confined, and survives every damaged module.
mod compile;
// Compiled code is cached, checked and removed.
mod cache;
// Python interpreters for the sandbox.
mod interpreters;
// What a failed run advises works when it is followed.
mod advice;
// The audit log has a line for every run.
mod audit;
mod audit_batch;
// The view of audit logs.
mod audit_view;
// Logging with `--log`.
mod logs;
// Workers that are killed or hang.
mod workers;
// Workers that their guests have taken over.
mod hostile_surroundings;
mod hostile_workers;
// System calls that a taken-over worker is refused.
mod refused_calls;
// Signals leave nothing behind.
mod signals;

// README and the book: commands print what the page shows.
mod documents;
// Golden tests of the command line: to add one, put a file into `cli/`.
mod cli;
// The manual on a terminal.
mod doc;
// What `modbox doctor` says about the machine.
mod doctor;
// The modules that `modbox list` lists.
mod list;
// The house rules that a program can check.
mod tidy;
mod tidy_documents;
mod tidy_waits;
mod tidy_words;
// The house rules for crates and imports.
mod crates;
mod house;
