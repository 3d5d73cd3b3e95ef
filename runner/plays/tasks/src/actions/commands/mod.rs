//! Actions around commands, scripts and jobs.

pub mod async_status;
pub mod command;
pub mod connection;
pub mod low_level;
pub mod pause;
pub mod raw;
pub mod script;
