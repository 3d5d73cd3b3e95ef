//! What crosses the boundary to a module. What of it is compared with the real ansible-core.

pub(crate) mod oracle_argument_spec;
pub(crate) mod oracle_contract;
pub(crate) mod oracle_redaction;
pub(crate) mod oracle_releases;
pub(crate) mod oracle_results;
pub(crate) mod powershell;
