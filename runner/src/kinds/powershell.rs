//! New-style PowerShell, recognised and not run yet: it needs its module utils loaded before it.

use crate::kinds::{Kind, ModuleKind, PrepareError, Prepared, Request};

#[derive(Debug)]
pub(super) struct Powershell;

impl ModuleKind for Powershell {
    fn kind(&self) -> Kind {
        Kind::Powershell
    }

    fn name(&self) -> &'static str {
        "powershell"
    }

    fn prepare(&self, _: &Request<'_>) -> Result<Prepared, PrepareError> {
        Err(PrepareError::NotSupportedYet {
            kind: Kind::Powershell,
            remedy: "a script that reads a JSON file itself runs with `--kind want_json`",
        })
    }
}
