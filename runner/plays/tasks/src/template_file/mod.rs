//! Rendering template files of a play: the variables that they see, and where they find other templates.
//!
//! The action `template` and the lookup of that name share it.

pub mod search;
pub mod variables;
