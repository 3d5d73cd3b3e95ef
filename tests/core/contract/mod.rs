//! What crosses the boundary to a module.

pub(crate) mod properties;
