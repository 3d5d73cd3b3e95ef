//! Plays, inventories and templates.

pub(crate) mod inventories;
pub(crate) mod plays_actions;
pub(crate) mod plays_asking;
pub(crate) mod plays_bad_input;
pub(crate) mod plays_daemons;
pub(crate) mod plays_damaged_vaults;
pub(crate) mod plays_explained;
pub(crate) mod plays_jobs;
pub(crate) mod plays_json;
pub(crate) mod plays_learning;
mod plays_no_log;
pub(crate) mod plays_policy;
pub(crate) mod plays_preflight;
pub(crate) mod plays_resources;
pub(crate) mod plays_runs;
pub(crate) mod plays_secrets;
pub(crate) mod plays_settings;
pub(crate) mod plays_settings_table;
pub(crate) mod plays_terminal;
pub(crate) mod plays_tree;
pub(crate) mod plays_unsafe;
