//! Runs on layers: previews, saved ones, and transactions.

pub(crate) mod batch_layers;
pub(crate) mod layers_runs;
pub(crate) mod previews;
pub(crate) mod previews_of_plays;
pub(crate) mod saved;
pub(crate) mod saved_shown;
pub(crate) mod transactions;
