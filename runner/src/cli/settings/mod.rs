//! Turns the typed command line into what a run needs: reads and merges policy files, resolves paths and variables.
//! Every mistake is a usage error that names the switch or the file.

mod asks;
mod audience;
mod core_statements;
pub(crate) mod exposure;
mod files;
mod grants;
mod keyed_rules;
mod library;
mod merged_rules;
mod offline;
mod plugin_rules;
pub(crate) mod policy_folder;
mod python;
#[cfg(test)]
mod reach_of_words;
mod rule_sources;
mod sent_policy;
mod signature_files;
mod switches;
mod trust;
mod trust_file;
mod written_paths;

pub(crate) use self::asks::as_rules as asked_rules;
pub(crate) use self::audience::Audience;
pub(crate) use self::files::{
    MAX_POLICY, PolicyText, Resolved, WrongGrant, check_implied, read as read_policy_file, resolve,
};
pub(crate) use self::library::{WORKING_LIBRARY, library};
pub(crate) use self::offline::OfflineRule;
pub(crate) use self::python::{interpreters, interpreters_folder, python};
pub(crate) use self::rule_sources::Settings;
pub(crate) use self::signature_files::{read_signature, read_signature_file, signature_path};
pub(crate) use self::trust::{ModuleIdentity, Trust};
