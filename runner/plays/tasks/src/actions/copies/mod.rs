//! Actions that bring files of the play to the machine, or back.

pub mod assemble;
pub mod copy;
pub mod copying;
pub mod fetch;
pub mod file_difference;
pub mod local_tree;
pub mod patch;
pub mod stat;
pub mod synchronize;
pub mod template;
pub mod unarchive;
pub mod uri;
