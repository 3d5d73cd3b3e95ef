//! Modules by the names that people type.

pub(crate) mod find;
pub(crate) mod shadow;
pub(crate) mod standard;
