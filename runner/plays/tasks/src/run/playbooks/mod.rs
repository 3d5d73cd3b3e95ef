//! Playbooks and plays: their order, hosts and files of variables, what is listed and what is refused before they start.

pub mod connection_free;
pub mod hosts;
pub mod inventory_vars;
pub mod known_hosts;
pub mod listing;
pub mod once;
pub mod options;
pub mod play;
pub mod play_files;
pub mod play_spec;
pub mod playbook;
pub mod prompt;
pub mod refresh;
pub mod refresh_inventory;
pub mod refusals;
pub mod tags;
