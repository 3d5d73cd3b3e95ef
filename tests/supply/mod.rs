//! Where modules come from: registries, and who signed them.

pub(crate) mod registry;
pub(crate) mod trust;
