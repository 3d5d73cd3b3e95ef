//! The metadata of a provider in the section of a component: the key `provider` beside those of a module.

use std::path::Path;

use modbox_kinds::detect::{self, DetectError, Detection};
use modbox_python_json::{Value, decode};

use crate::modules::metadata::WasmInfo;

/// The key of a provider's declaration.
const KEY: &str = "provider";

/// Returns the text of a wasm module's section, if the bytes may have a provider in it.
pub(crate) fn text_of(bytes: &[u8]) -> Option<String> {
    let wasm = modbox_kinds::skip_shebang(bytes);
    memchr::memmem::find(wasm, b"\"provider\"")?;
    WasmInfo::parse(wasm).ok()?.metadata
}

/// Returns the declaration of a provider in the text of a section.
pub(crate) fn declaration(section: &str) -> Option<Value> {
    decode(section).ok()?.as_dict()?.get(KEY).cloned()
}

/// Detects the kind of a file by its name, its bytes and its section.
///
/// # Errors
///
/// Bytes that are not a module.
pub fn detect_file(path: &Path, bytes: &[u8]) -> Result<Detection, DetectError> {
    let found = detect::detect_file(path, bytes)?;
    let section = if found.kind.is_wasm() && !found.kind.is_provider() { text_of(bytes) } else { None };
    Ok(with_convention(found, path, section.as_deref()))
}

/// Returns the kind of a wasm module, which is that of a provider if the file's name or the section says so.
pub(crate) fn with_convention(found: Detection, path: &Path, section: Option<&str>) -> Detection {
    let is_named = detect::kind_of_name(path).is_some();
    if found.kind.is_provider() || !found.kind.is_wasm() {
        return found;
    }
    match is_named || section.and_then(declaration).is_some() {
        true => Detection { kind: found.kind.as_provider(), reason: format!("{}, a provider", found.reason) },
        false => found,
    }
}
