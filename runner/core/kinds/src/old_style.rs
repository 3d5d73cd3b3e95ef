//! Scripts without any marker: their interpreter gets the script and the path of a `key=value` file, which
//! shell scripts read with `. "$1"`.

use modbox_contract::key_values::old_style_args;

use crate::kind::Kind;
use crate::request::{ModuleKind, PrepareError, PreparedInvocation, Request};
use crate::{native, shebang};

#[derive(Debug)]
pub(super) struct OldStyle;

impl ModuleKind for OldStyle {
    fn kind(&self) -> Kind {
        Kind::OldStyle
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        let line = shebang::read(request.bytes, request)?;
        let module = shebang::rewrite(request.bytes, &line);
        Ok(native::prepare(request, module, Some(old_style_args(&request.args.to_dict())), Some(&line)))
    }
}
