//! Ansible's templates: lazy variables, native results, undefined values as markers.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
