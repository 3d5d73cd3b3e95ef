//! Runs on layers: previews, saved ones, and transactions. What of it is compared with the real ansible-core.

pub(crate) mod oracle_previews;
