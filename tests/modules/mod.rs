//! modbox's own modules.

pub(crate) mod module_refusals;
pub(crate) mod web_modules;
