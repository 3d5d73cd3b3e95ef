//! Wraps a core WASI 0.1 module in the standard adapter, so that it runs as a component.

use anyhow::bail;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wasmparser::{ExternalKind, Parser, Payload, Validator};
use wit_component::ComponentEncoder;

use crate::memory_size::hide_foreign_growth;

/// Function of a command that runs it.
const START: &str = "_start";

/// Function of a reactor that prepares it for calls of its other functions.
const INITIALIZE: &str = "_initialize";

/// Returns the component for a core module that exports `_start`.
///
/// # Errors
///
/// Fails if the bytes are not a WASI 0.1 command: for invalid modules, modules with other imports, reactors and
/// libraries.
pub(super) fn componentize(core: &[u8]) -> anyhow::Result<Vec<u8>> {
    // The encoder panics when a section ends beyond the end of the file, and the rewriter expects a valid module.
    Validator::new().validate_all(core)?;
    check_command(core)?;
    let rewritten = hide_foreign_growth(core)?;
    ComponentEncoder::default()
        .validate(true)
        .module(rewritten.as_deref().unwrap_or(core))?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
        .encode()
}

/// Refuses a module that is not a command.
fn check_command(core: &[u8]) -> anyhow::Result<()> {
    let (mut starts, mut initializes) = (false, false);
    for payload in Parser::new(0).parse_all(core) {
        if let Payload::ExportSection(exports) = payload? {
            for export in exports {
                let export = export?;
                let is_function = export.kind == ExternalKind::Func;
                starts |= is_function && export.name == START;
                initializes |= is_function && export.name == INITIALIZE;
            }
        }
    }
    match (starts, initializes) {
        (true, _) => Ok(()),
        (false, true) => bail!(
            "it is a WASI reactor: it exports `{INITIALIZE}` for a host that calls its other functions, and no \
             `{START}` to run; build it as a command (C: without `-mexec-model=reactor`, Rust: as a binary and not as \
             a `cdylib`, Go: without `-buildmode=c-shared`)"
        ),
        (false, false) => bail!(
            "it is a library: it exports no `{START}` to run; build it as a WASI command, a program with a `main` \
             function (C: without `--no-entry`, Rust: as a binary for `wasm32-wasip1` or `wasm32-wasip2`)"
        ),
    }
}
