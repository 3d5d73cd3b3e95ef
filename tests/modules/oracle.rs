//! modbox's own modules. What of it is compared with the real ansible-core.

pub(crate) mod hostile_archives;
pub(crate) mod oracle_modes;
pub(crate) mod oracle_modules;
pub(crate) mod oracle_options;
