//! New-style Python, recognised and not run yet: it needs the `ansible.module_utils` it imports beside it.

use crate::kinds::{Kind, ModuleKind, PrepareError, Prepared, Request};

#[derive(Debug)]
pub(super) struct Python;

impl ModuleKind for Python {
    fn kind(&self) -> Kind {
        Kind::Python
    }

    fn name(&self) -> &'static str {
        "python"
    }

    fn prepare(&self, _: &Request<'_>) -> Result<Prepared, PrepareError> {
        Err(PrepareError::NotSupportedYet {
            kind: Kind::Python,
            remedy: "a script that reads a JSON file itself runs with `--kind want_json`",
        })
    }
}
