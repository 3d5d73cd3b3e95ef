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
    ComponentEncoder::default()
        .validate(true)
        .module(core)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
        .encode()
}
