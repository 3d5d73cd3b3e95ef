//! What a caller asks of one run: the module's name, its arguments and where they come from, a policy, limits.

pub(crate) mod argument_origin;
pub(crate) mod run_request;
pub(crate) mod scrutiny;
