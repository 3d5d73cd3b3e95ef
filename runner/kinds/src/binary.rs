//! Executables: the kernel starts the file as it is, with the path of a JSON file as its one argument.
//!
//! A `#!` line in front of binary data is the kernel's business: Ansible neither parses nor overrides it.

use std::sync::Arc;

use crate::kind::Kind;
use crate::native;
use crate::request::{ModuleKind, PrepareError, Prepared, Request};

#[derive(Debug)]
pub(super) struct Binary;

impl ModuleKind for Binary {
    fn kind(&self) -> Kind {
        Kind::Binary
    }

    fn prepare(&self, request: &Request<'_>) -> Result<Prepared, PrepareError> {
        Ok(native::prepare(request, Arc::clone(request.bytes), Some(request.args.to_file()), None))
    }
}
