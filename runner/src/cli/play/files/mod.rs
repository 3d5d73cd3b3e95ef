//! The files that belong to a play, and inventories.

mod contents;
pub(crate) mod cover;
mod denials;
mod file_time;
pub(crate) mod glob;
pub(crate) mod inventory;
mod learned_files;
mod linked_sources;
pub(crate) mod named_file;
pub(crate) mod sources;
pub(crate) mod tree;
pub(crate) mod tree_root;
pub(crate) mod written;
