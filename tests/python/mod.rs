//! New-style Python modules, natively and in the sandbox.

pub(crate) mod interpreters;
