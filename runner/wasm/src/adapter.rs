//! Wraps a core WASI 0.1 module in the standard adapter, so that it runs as a component.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

/// Returns the component for a core module that exports `_start`.
///
/// # Errors
///
/// Fails if the bytes are not a WASI 0.1 command: for invalid modules, modules with other imports, and libraries.
pub(super) fn componentize(core: &[u8]) -> anyhow::Result<Vec<u8>> {
    // The encoder panics when a section ends beyond the end of the file. So all sections are parsed first, which costs
    // next to nothing.
    wasmparser::Parser::new(0).parse_all(core).try_for_each(|section| section.map(drop))?;
    ComponentEncoder::default()
        .validate(true)
        .module(core)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
        .encode()
}
