//! Reads a wasm module's claims without running anything: imports, exports, and the JSON object in its `modbox:module`
//! section.
//!
//! All of it is a claim. It is shown, compared with the policy and used to check arguments early; it grants nothing.

use modbox_argument_spec::Metadata;
use modbox_wasm::NewerWasi;
use wasmparser::{Encoding, Parser, Payload};

/// The custom section that the guest SDK writes.
const SECTION: &str = modbox_argument_spec::SECTION_NAME;

const MAX_METADATA: usize = modbox_argument_spec::MAX_METADATA_BYTES;

/// Imports or exports that are read; more than a listing shows.
const MAX_LISTED: usize = 10_000;

/// Imports, exports and metadata of a wasm module.
#[derive(Debug, Default)]
pub struct WasmInfo {
    /// Imports: `wasi:cli/environment@0.2.3`, or `wasi_snapshot_preview1.fd_write`.
    pub imports: Vec<String>,
    /// What the module exports, spelt as the imports are.
    pub exports: Vec<String>,
    /// The bytes of the section, as text.
    pub metadata: Option<String>,
}

/// An error in reading a wasm module's claims.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The bytes are not wasm.
    #[error("failed to parse the module")]
    Parse(#[from] wasmparser::BinaryReaderError),
    /// The module is for a newer WASI.
    #[error(transparent)]
    NewerWasi(NewerWasi),
    /// The section is too long.
    #[error("the `{SECTION}` section is longer than the limit of {MAX_METADATA} bytes")]
    TooLong,
    /// The section is not UTF-8.
    #[error("the `{SECTION}` section is not UTF-8")]
    NotText,
    /// The section holds invalid metadata.
    #[error("the `{SECTION}` section is wrong")]
    Spec(#[from] modbox_argument_spec::SpecError),
}

impl WasmInfo {
    /// Reads a component or a core module. The section may lie in a core module inside a component, which is where a
    /// linker leaves it; the first one found counts.
    ///
    /// # Errors
    ///
    /// Bytes that are not wasm, a module for a newer WASI than modbox runs, or a section that is too long or not text.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetadataError> {
        if let Some(newer) = NewerWasi::find(bytes) {
            return Err(MetadataError::NewerWasi(newer));
        }
        let mut info = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::Version { encoding, .. } if depth == 0 && encoding == Encoding::Module => {}
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    for import in imports.into_iter().take(MAX_LISTED) {
                        info.imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    for export in exports.into_iter().take(MAX_LISTED) {
                        info.exports.push(export?.name.name.to_owned());
                    }
                }
                Payload::ImportSection(imports) if depth == 0 => {
                    for import in imports.into_imports().take(MAX_LISTED) {
                        let import = import?;
                        info.imports.push(format!("{}.{}", import.module, import.name));
                    }
                }
                Payload::ExportSection(exports) if depth == 0 => {
                    for export in exports.into_iter().take(MAX_LISTED) {
                        info.exports.push(export?.name.to_owned());
                    }
                }
                Payload::CustomSection(section) if section.name() == SECTION && info.metadata.is_none() => {
                    if section.data().len() > MAX_METADATA {
                        return Err(MetadataError::TooLong);
                    }
                    let text = str::from_utf8(section.data()).map_err(|_| MetadataError::NotText)?;
                    info.metadata = Some(text.to_owned());
                }
                _ => {}
            }
        }
        Ok(info)
    }

    /// Reads the metadata, if there is any.
    ///
    /// # Errors
    ///
    /// A section that is not JSON, or whose argument spec is wrong.
    pub fn metadata(&self) -> Result<Option<Metadata>, MetadataError> {
        match &self.metadata {
            Some(text) => Ok(Some(Metadata::from_json(text)?)),
            None => Ok(None),
        }
    }
}
