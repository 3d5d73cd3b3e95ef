//! Lookups that act: they read files, the environment and the output of commands for templates.
//!
//! A lookup has no authority of its own. It reads the play's tree freely, and asks the policy for everything else through
//! [`host::LookupHost`]. What it returns is data, never a template.

mod call;
mod commands;
mod config;
mod csv;
mod csvfile;
pub mod encoding;
mod env;
mod file;
mod fileglob;
pub mod first_found;
pub mod host;
mod ini;
mod ini_interpolation;
mod inventory_hostnames;
#[cfg(test)]
mod memory_host;
mod options;
mod password;
mod password_file;
pub mod table;
mod template;
mod url;
