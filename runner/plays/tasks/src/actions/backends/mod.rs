//! Actions that choose or only run a module.

pub mod backend;
pub mod dnf;
pub mod libral;
pub mod normal;
pub mod package;
pub mod service;
