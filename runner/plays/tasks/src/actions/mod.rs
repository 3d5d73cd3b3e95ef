//! Actions: what a task does before, around or instead of a module.
//!
//! An action has no authority of its own. It reads the play's tree and runs modules, both through the caller's host. The
//! table in [`table`] has all of them; a name that it does not have is that of a module.

pub mod add_host;
pub mod assemble;
pub mod assert;
pub mod async_status;
pub mod backend;
pub mod command;
pub mod connection;
pub mod context;
pub mod copy;
pub mod copying;
pub mod debug;
pub mod dnf;
pub mod error;
pub mod fail;
pub mod fetch;
pub mod file_difference;
pub mod gather_facts;
pub mod group_by;
pub mod include_vars;
pub mod libral;
pub mod local_tree;
pub mod low_level;
pub mod normal;
pub mod package;
pub mod pause;
pub mod raw;
pub mod script;
pub mod service;
pub mod set_fact;
pub mod set_stats;
pub mod stat;
pub mod table;
pub mod template;
#[cfg(test)]
mod tests_of_modules;
pub mod unarchive;
pub mod uri;
pub mod validate_argument_spec;
