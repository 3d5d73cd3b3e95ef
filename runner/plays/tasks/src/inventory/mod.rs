//! The operator's inventory: its files, which are read before any play.
//!
//! Inventories that are programs or configure a Python plugin are refused: they would run unconfined.

pub mod read;
pub mod sources;
