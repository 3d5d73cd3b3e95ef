//! Plays and tasks: reading them, running them, and the actions around modules.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod keywords;
