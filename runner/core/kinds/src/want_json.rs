//! Scripts that contain the word `WANT_JSON`: their interpreter gets the script and the path of a JSON file.

use crate::kind::Kind;
use crate::request::{ModuleKind, PrepareError, PreparedInvocation, Request};
use crate::{native, shebang};

#[derive(Debug)]
pub(super) struct WantJson;

impl ModuleKind for WantJson {
    fn kind(&self) -> Kind {
        Kind::WantJson
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        let line = shebang::read(request.bytes, request)?;
        let module = shebang::rewrite(request.bytes, &line);
        Ok(native::prepare(request, module, Some(request.args.to_file()), Some(&line)))
    }
}
