//! Where modules come from: registries, and who signed them. What of it is compared with the real ansible-core.

pub(crate) mod oracle_registry;
pub(crate) mod oracle_trust;
