//! Guests: the contract, the file guard, attributes, commands, network and limits.

pub(crate) mod error_words;
pub(crate) mod host_memory;
pub(crate) mod wasm_attributes;
pub(crate) mod wasm_commands;
pub(crate) mod wasm_commands_tmp;
pub(crate) mod wasm_contract;
pub(crate) mod wasm_file_errors;
pub(crate) mod wasm_files;
pub(crate) mod wasm_guard;
pub(crate) mod wasm_guard_hostile;
pub(crate) mod wasm_guard_limits;
pub(crate) mod wasm_guard_own;
pub(crate) mod wasm_guard_planted;
pub(crate) mod wasm_guard_runs;
pub(crate) mod wasm_http;
pub(crate) mod wasm_limits;
pub(crate) mod wasm_lost;
pub(crate) mod wasm_network;
pub(crate) mod wasm_outside;
pub(crate) mod wasm_outside_words;
pub(crate) mod wasm_releases;
