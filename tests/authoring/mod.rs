//! Building and trying modules, in Rust and other languages.

pub(crate) mod author_commands;
pub(crate) mod builds;
pub(crate) mod example_modules;
pub(crate) mod local_paths;
pub(crate) mod missing_tools;
pub(crate) mod projects;
