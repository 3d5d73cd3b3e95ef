//! Python's behaviour on minijinja: values, text, filters, tests and methods as Ansible has them.
//!
//! Ansible's templates run on Python: `1 == True`, text is `str()`, a filter gets keyword arguments and raises on a wrong
//! type. This crate gives minijinja's values that behaviour. The runner's templates and the guest module `template`
//! share it.
//!
//! The crate is pure. It reads no clock, no environment and no files.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod values;
