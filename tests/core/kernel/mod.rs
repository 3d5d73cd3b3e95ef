//! The kernel's walls around workers, with and without the engine.

pub(crate) mod kernel_calls;
pub(crate) mod kernel_lists;
pub(crate) mod kernel_runs;
pub(crate) mod kernel_walls;
pub(crate) mod kernel_walls_hub;
pub(crate) mod refused_calls;
