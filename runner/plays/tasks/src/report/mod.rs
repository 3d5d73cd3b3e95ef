//! What happened: events with typed values, counters, messages, and the text of Ansible's default callback over them.
//!
//! The files know nothing of how plays run.

pub mod callback;
pub mod counters;
pub mod diff;
pub mod difference;
pub mod events;
pub mod json;
pub mod message;
pub mod outcome;
pub mod result;
