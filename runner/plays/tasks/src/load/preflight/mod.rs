//! What is looked at before the first task: files that tasks name, and what includes with written names read.
//!
//! Nothing is evaluated and nothing runs. What every run would come to is certain, and the play is refused; the rest is named in a
//! warning.

pub mod followed;
pub mod looked_up;
pub mod named_files;
