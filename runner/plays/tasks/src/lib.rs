//! Plays and tasks: reading them, running them, and the actions around modules.
//!
//! A playbook is read by [`load::playbook::read`] into the types of [`model`], and run by [`run::playbook::run`] on this
//! host. Everything that touches the machine goes through traits that the caller implements: [`files::PlayFiles`] for the
//! play's tree, and [`action_host::ActionHost`] for modules, time and questions. What happens is told as events to
//! [`report::events::Events`]; [`report::callback::Callback`] writes them as Ansible's default callback does.
//!
//! Results of modules, facts and answers are values, never sources: nothing in them is ever evaluated as a template.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod action_host;
pub mod actions;
pub mod error;
pub mod explain;
pub mod fields;
pub mod files;
mod ini_file;
pub mod inventory;
pub mod keywords;
pub mod known_hosts;
pub mod load;
pub mod lookups;
#[cfg(test)]
mod memory_files;
pub mod model;
pub mod paths;
pub mod python_plugins;
pub mod report;
pub mod run;
pub mod run_options;
pub mod scalars;
pub mod settings;
pub mod template_file;
pub mod text;
pub mod vars;
mod words;
