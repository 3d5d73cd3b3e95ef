//! Paths of guests: how they are resolved, and what they lead to.

pub(crate) mod coverage;
pub(crate) mod follow;
pub(crate) mod links;
pub(crate) mod open;
pub(crate) mod paths;
pub(crate) mod resolve;
pub(crate) mod target;
pub(crate) mod two_paths;
pub(crate) mod walk;
