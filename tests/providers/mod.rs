//! Providers of libral.

pub(crate) mod providers_check;
pub(crate) mod providers_failures;
pub(crate) mod providers_hostile;
pub(crate) mod providers_quoting;
pub(crate) mod providers_rules;
pub(crate) mod providers_runs;
pub(crate) mod providers_shown;
