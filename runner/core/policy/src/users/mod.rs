//! Users and groups of this machine, and the owners that a run may give to files.

pub mod accounts;
pub(crate) mod known_owners;
pub(crate) mod login;
pub(crate) mod own;
