//! What a listing says about one module: its kind, version, first line of documentation and digest.

use std::path::Path;

use modbox_vocabulary::error_chain;

use crate::module_digest::{module_digest, wasm_bytes};
use crate::modules::documentation::short_description;
use crate::modules::locate;
use crate::modules::metadata::WasmInfo;
use crate::modules::provider_section;
use crate::python::read_bounded;

/// Bytes of a file with a version that are read.
const MAX_VERSION_FILE: u64 = 1 << 20;

/// Facts about a module, without running it.
#[derive(Debug, Default)]
pub struct ModuleSummary {
    /// The word of its kind, such as `component`; `None` if that is unknown.
    pub kind: Option<&'static str>,
    /// Version of a wasm module.
    pub version: String,
    /// First line of its documentation.
    pub description: String,
    /// SHA-256 of the module in hex.
    pub digest: String,
    /// What is wrong with the file.
    pub problem: Option<String>,
}

impl ModuleSummary {
    /// Reads a module's file.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let file = match locate::read(path) {
            Ok(file) => file,
            Err(error) => return Self { problem: Some(error_chain(&error)), ..Self::default() },
        };
        let digest = module_digest(&file.bytes);
        let kind = match provider_section::detect_file(path, &file.bytes) {
            Ok(detection) => detection.kind.as_str(),
            Err(error) => return Self { digest, problem: Some(error_chain(&error)), ..Self::default() },
        };
        let mut summary = Self { kind: Some(kind), digest, ..Self::default() };
        match wasm_bytes(&file.bytes).map(|wasm| WasmInfo::parse(wasm).and_then(|info| info.metadata())) {
            Some(Ok(Some(metadata))) => {
                summary.description = metadata.description.first().cloned().unwrap_or_default();
                summary.version = metadata.version;
            }
            Some(Ok(None)) => {}
            Some(Err(error)) => summary.problem = Some(error_chain(&error)),
            None => summary.description = short_description(path, &file.bytes).unwrap_or_default(),
        }
        summary
    }
}

/// Returns the version of a collection or of an ansible-core; empty if its folder does not tell.
#[must_use]
pub fn package_version(folder: &Path) -> String {
    let read = |name: &str| {
        let bytes = read_bounded(&folder.join(name), MAX_VERSION_FILE).ok()?;
        String::from_utf8(bytes).ok()
    };
    let of_collection = || {
        let manifest: serde_json::Value = serde_json::from_str(&read("MANIFEST.json")?).ok()?;
        manifest["collection_info"]["version"].as_str().map(str::to_owned)
    };
    let assigned = |name: &str, key: &str, sign: char| {
        let text = read(name)?;
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(sign))?;
        Some(value.trim().trim_matches(['"', '\'']).to_owned())
    };
    of_collection()
        .or_else(|| assigned("galaxy.yml", "version", ':'))
        .or_else(|| assigned("release.py", "__version__", '='))
        .unwrap_or_default()
}
