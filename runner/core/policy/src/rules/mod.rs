//! The rules of one source of a policy, with names and paths resolved, and the words that settings are written with.
//!
//! How rules are written is in `written`, and what they come to together in `grant_set`.

pub(crate) mod accept_policy;
pub(crate) mod check_rule;
pub(crate) mod python_place;
pub(crate) mod python_rule;
pub(crate) mod source_rules;
