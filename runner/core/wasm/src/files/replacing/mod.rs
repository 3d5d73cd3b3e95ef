//! Temporaries beside granted names, and what a file keeps of the one that it replaces.

pub(crate) mod keep;
pub(crate) mod temporaries;
