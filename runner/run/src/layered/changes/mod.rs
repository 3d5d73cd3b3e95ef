//! What a run on layers has changed, as people and programs read it.

pub(crate) mod ansible_diff;
pub(crate) mod claim;
pub(crate) mod hidden_content;
pub(crate) mod outside;
pub(crate) mod plan_store;
pub(crate) mod shown_changes;
pub(crate) mod verdict;
