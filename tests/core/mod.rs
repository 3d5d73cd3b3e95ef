//! What a run is made of and what confines it.

pub(crate) mod contract;
pub(crate) mod grants;
pub(crate) mod kernel;
pub(crate) mod native;
pub(crate) mod wasm;
pub(crate) mod workers;
