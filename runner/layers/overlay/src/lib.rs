//! Copy-on-write layers over granted files: what a run changed, and how a change is committed.
//!
//! A layer is a view of a granted directory that a module can write without writing the directory. When the module has
//! ended, the layer is frozen and compared with the directory. The result is a list of changes, which is shown, or
//! committed as a whole.
//!
//! This crate does not know modules, policies or reports. It does not decide whether a run is committed.

#![deny(missing_docs)]

mod attachment;
pub mod change;
pub mod change_list;
mod closed_modes;
pub mod commit;
mod comparison;
mod content_reader;
mod copied_attributes;
mod entry_bound;
mod entry_flags;
mod entry_reader;
mod equal_files;
pub mod error;
mod file_copy;
mod file_holes;
pub mod fits;
pub mod hub;
mod hub_removal;
mod layer_contents;
pub mod layers;
mod mount;
mod name_stage;
mod old_tree;
mod optional_path;
mod overlay_changes;
mod overlay_marks;
mod overlay_view;
mod own_places;
mod private_place;
pub mod quota;
mod scan;
mod stacked;
pub mod text_diff;
mod tree_comparer;
mod tree_copy;
mod tree_facts;
mod tree_root;
mod tree_survey;
#[cfg(test)]
mod tree_tests;
pub mod user_mounts;
mod user_overlay;
pub mod user_stacked;
