//! The kinds of modules: how to recognise each, and how to start a module of that kind.
//!
//! A kind is pure: it converts module bytes and arguments to an [`Invocation`](modbox_vocabulary::Invocation). It reads
//! no file, starts no process and does not depend on other kinds, so that its rules can be tested as a table.
//! [`detect`] finds the kind of some bytes; `ALL` is the registry. To add a kind, add a file, a variant of [`Kind`] and
//! a line in `ALL`.
//!
//! Two modules hold what the native kinds share: `native` builds the files and the command, `shebang` parses
//! interpreter lines and replaces their interpreters.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod ansiballz;
pub mod collections;
pub mod detect;

mod binary;
mod jsonargs;
mod kind;
pub mod module_call;
mod native;
mod old_style;
pub mod powershell;
mod powershell_source;
mod provider;
mod python;
mod request;
mod shebang;
mod want_json;
mod wasm;

pub use kind::{Kind, ProviderForm, UnknownKind};
pub use powershell::NoPowershell;
pub use python::{GUEST_CODE_PATH, PythonSource};
use request::ModuleKind;
pub use request::{CoreArgs, PrepareError, PreparedInvocation, PythonForm, PythonStart, Request};
pub use shebang::{interpreter_words, skip_line as skip_shebang};

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
    &provider::NATIVE,
    &provider::COMPONENT,
    &provider::CORE,
];

/// Prepares a module of a kind: returns all that a sandbox needs to run it.
///
/// # Errors
///
/// A kind that is not supported yet, and interpreter lines that are missing or invalid.
pub fn prepare(kind: Kind, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
    let module_kind = ALL.iter().find(|module_kind| module_kind.kind() == kind);
    module_kind.expect("a test walks the registry").prepare(request)
}

#[cfg(test)]
mod tests;
