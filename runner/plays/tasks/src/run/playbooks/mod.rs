//! Playbooks and plays: their order and hosts, what is listed and what is refused before they start.

pub mod after_commit;
#[cfg(test)]
mod fake_host;
pub mod hosts;
pub mod listing;
pub mod play;
pub mod play_spec;
pub mod playbook;
pub mod prompt;
pub mod refusals;
pub mod tags;
