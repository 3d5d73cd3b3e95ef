//! What sort of module some bytes are, and how a module of that sort is started.
//!
//! A kind is pure: module bytes and arguments in, an [`Invocation`](modbox_vocabulary::Invocation) out. It reads no file, starts nothing
//! and knows no other kind, so that its rules can be tested as a table. [`detect`] finds the kind of
//! some bytes; `ALL` is the registry. To add a kind: a file, a variant of [`Kind`], a line in `ALL`.
//!
//! What the native kinds share is not a kind: `native` lays out files and the command, `shebang` reads
//! and overrides interpreter lines.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod ansiballz;
pub mod detect;

mod binary;
mod jsonargs;
mod kind;
mod native;
mod old_style;
pub mod powershell;
mod powershell_source;
mod python;
mod request;
mod shebang;
mod want_json;
mod wasm;

pub use kind::{Kind, UnknownKind};
pub use powershell::NoPowershell;
pub use python::PythonSource;
use request::ModuleKind;
pub use request::{PrepareError, Prepared, PythonForm, PythonStart, Request};
pub use shebang::skip_line as skip_shebang;

/// Every kind, in the order of detection.
const ALL: &[&dyn ModuleKind] = &[
    &wasm::COMPONENT,
    &wasm::CORE,
    &binary::Binary,
    &python::Python,
    &powershell::Powershell,
    &jsonargs::Jsonargs,
    &want_json::WantJson,
    &old_style::OldStyle,
];

/// Makes everything that a sandbox needs to run a module of a kind.
///
/// # Errors
///
/// A kind that cannot be run yet, and interpreter lines that are missing or unreadable.
pub fn prepare(kind: Kind, request: &Request<'_>) -> Result<Prepared, PrepareError> {
    let module_kind = ALL.iter().find(|module_kind| module_kind.kind() == kind);
    module_kind.expect("a test walks the registry").prepare(request)
}

#[cfg(test)]
mod tests;
