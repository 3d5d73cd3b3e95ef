//! Paths of guests: how they are resolved, what they lead to, and what is done with a granted name at their end.

pub(crate) mod coverage;
pub(crate) mod links;
pub(crate) mod names;
pub(crate) mod paths;
pub(crate) mod publish;
pub(crate) mod resolve;
pub(crate) mod target;
pub(crate) mod two_paths;
pub(crate) mod walk;
