//! Plays, inventories and templates. What of it is compared with the real ansible-core.

pub(crate) mod oracle_batches;
pub(crate) mod oracle_corpus;
pub(crate) mod oracle_filters;
pub(crate) mod oracle_homes;
pub(crate) mod oracle_hostile_plugins;
pub(crate) mod oracle_includes;
pub(crate) mod oracle_learning;
pub(crate) mod oracle_play_secrets;
pub(crate) mod oracle_plays;
pub(crate) mod oracle_plugin_grants;
pub(crate) mod oracle_plugins;
pub(crate) mod oracle_plugins_in_sandbox;
pub(crate) mod oracle_plugins_of_collections;
pub(crate) mod oracle_private_keys;
pub(crate) mod oracle_python_lookups;
pub(crate) mod oracle_roles;
pub(crate) mod oracle_runme;
pub(crate) mod oracle_settings;
pub(crate) mod oracle_targets;
pub(crate) mod oracle_template_plugins;
pub(crate) mod oracle_templates;
pub(crate) mod oracle_vault;
pub(crate) mod oracle_yaml;
mod plugin_attempts;
