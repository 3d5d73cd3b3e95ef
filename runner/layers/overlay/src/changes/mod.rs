//! What a run has changed: old and new states of entries, compared.

pub mod change;
pub mod change_list;
pub(crate) mod closed_modes;
pub(crate) mod comparison;
pub(crate) mod content_reader;
pub(crate) mod entry_bound;
pub(crate) mod entry_flags;
pub(crate) mod entry_reader;
pub(crate) mod equal_files;
pub(crate) mod old_tree;
pub(crate) mod overlay_changes;
pub(crate) mod overlay_marks;
pub(crate) mod scan;
pub mod text_diff;
pub(crate) mod tree_comparer;
