//! Plays as they are read: tasks in blocks, and what the tasks inherit from.
//!
//! The types hold sources with their positions. They evaluate nothing and read no files; `load` makes them from files,
//! and `run` evaluates them.

pub mod block;
pub mod frame;
pub mod keywords;
pub mod makers;
pub(crate) mod path_arguments;
pub mod play;
pub mod role;
pub mod task;
