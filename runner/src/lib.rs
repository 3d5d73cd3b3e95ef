//! modbox runs automation modules that nobody has to trust.

#![deny(missing_docs)]

pub mod authoring;
pub mod cli;
pub mod contract;
pub mod kinds;
pub mod sandbox;
