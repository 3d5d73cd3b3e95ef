//! Playbooks and plays: their order, their hosts, and the checks before their first task.

pub mod after_commit;
mod batches;
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
