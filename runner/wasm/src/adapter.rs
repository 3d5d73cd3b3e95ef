//! Wraps a core WASI 0.1 module in the standard adapter, so that it runs as a component.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

/// Returns the component for a core module that exports `_start`.
///
/// # Errors
///
/// Bytes that are not a WASI 0.1 command: invalid modules, modules with other imports, libraries.
pub(super) fn componentize(core: &[u8]) -> anyhow::Result<Vec<u8>> {
    // The encoder panics when a section ends behind the end of the file. All sections are walked first; this costs
    // next to nothing.
    wasmparser::Parser::new(0).parse_all(core).try_for_each(|section| section.map(drop))?;
    ComponentEncoder::default()
        .validate(true)
        .module(core)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
        .encode()
}
