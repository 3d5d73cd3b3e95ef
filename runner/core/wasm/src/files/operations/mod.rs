//! What guests do with files: the interfaces of WASI and of `modbox:host`.

pub(crate) mod attributes;
pub(crate) mod changes;
pub(crate) mod descriptors;
pub(crate) mod entries;
pub(crate) mod file_systems;
pub(crate) mod host;
pub(crate) mod listing;
pub(crate) mod streams;
pub(crate) mod times;
