//! Executables: the kernel starts the unchanged file, with the path of a JSON file as its only argument.
//!
//! Only the kernel reads a `#!` line before binary data. Ansible neither parses nor replaces it.

use std::sync::Arc;

use crate::kind::Kind;
use crate::native;
use crate::request::{ModuleKind, PrepareError, PreparedInvocation, Request};

#[derive(Debug)]
pub(super) struct Binary;

impl ModuleKind for Binary {
    fn kind(&self) -> Kind {
        Kind::Binary
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        Ok(native::prepare(request, Arc::clone(request.bytes), Some(request.args.to_file()), None))
    }
}
