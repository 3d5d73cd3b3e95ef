//! Granted names: temporaries beside them, and files that take their place.

pub(crate) mod keep;
pub(crate) mod names;
pub(crate) mod publish;
pub(crate) mod temporaries;
