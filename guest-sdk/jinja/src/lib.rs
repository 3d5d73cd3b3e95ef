//! Python's behaviour on minijinja: values, text, filters, tests and methods as Ansible has them.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
