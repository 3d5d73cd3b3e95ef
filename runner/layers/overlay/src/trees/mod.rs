//! Trees of files: copies of them, what is known of them, and the entries below an open folder.

pub(crate) mod copied_attributes;
pub(crate) mod file_copy;
pub(crate) mod file_holes;
pub(crate) mod tree_copy;
pub(crate) mod tree_survey;

#[cfg(test)]
pub(crate) mod tree_tests;
