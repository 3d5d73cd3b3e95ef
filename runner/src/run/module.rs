//! A module that is ready to be run, once or many times.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use modbox_argument_spec::Metadata;
use sha2::{Digest, Sha256};

use crate::kinds::detect::{self, DetectError, Detection};
use crate::kinds::{self, Kind};
use crate::run::documentation;
use crate::run::locate::ModuleFile;
use crate::run::metadata::WasmInfo;
use crate::sandbox::invocation::WasmFormat;
use crate::sandbox::wasm::LoadedModule;

/// A module's bytes with what follows from them. What is costly is found out once: the digest and the kind when it is
/// made, metadata and compiled code when a run first needs them. Shared by threads as `&Module`.
#[derive(Debug)]
pub struct Module {
    path: PathBuf,
    bytes: Arc<[u8]>,
    digest: String,
    detection: Result<Detection, DetectError>,
    metadata: OnceLock<Option<Metadata>>,
    documentation: OnceLock<Option<Metadata>>,
    pub(super) loaded: OnceLock<LoadedModule>,
}

impl Module {
    /// Recognises a module by its bytes; with `kind`, takes it for that kind. A module of no kind can still be asked
    /// to run: the report of that run says what is wrong with it.
    #[must_use]
    pub fn new(file: ModuleFile, kind: Option<Kind>) -> Self {
        let ModuleFile { path, mut bytes } = file;
        let detection = detect::choose(kind, &bytes);
        let digest = digest(&bytes);
        // A guest is only its binary; the line in front is for whoever starts the file.
        if detection.as_ref().is_ok_and(|found| found.kind.is_wasm()) && bytes.starts_with(b"#!") {
            bytes = kinds::skip_shebang(&bytes).into();
        }
        Self {
            path,
            bytes,
            digest,
            detection,
            metadata: OnceLock::new(),
            documentation: OnceLock::new(),
            loaded: OnceLock::new(),
        }
    }

    /// Returns the file, as it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the whole file, of a wasm module without a `#!` line.
    #[must_use]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Returns the SHA-256 of the file, in hex.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the kind, and why it is that one.
    ///
    /// # Errors
    ///
    /// Bytes that are of no kind, or that are not what the caller takes them for.
    pub fn detection(&self) -> Result<&Detection, &DetectError> {
        self.detection.as_ref()
    }

    /// Returns which of the two wasm formats it is in, if in one.
    pub(super) fn format(&self) -> Option<WasmFormat> {
        match self.detection.as_ref().ok()?.kind {
            Kind::Component => Some(WasmFormat::Component),
            Kind::Core => Some(WasmFormat::Core),
            _ => None,
        }
    }

    /// Returns what the documentation of a native module says of its options, if it can be read.
    pub(super) fn documentation(&self) -> Option<&Metadata> {
        let native = self.detection.as_ref().is_ok_and(|found| !found.kind.is_wasm());
        let read = || documentation::read(&self.path, &self.bytes).filter(|_| native);
        self.documentation.get_or_init(read).as_ref()
    }

    /// Returns what a wasm module says of itself, if it says something that can be read.
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        let read = || {
            self.format()?;
            WasmInfo::parse(&self.bytes).ok()?.metadata().ok()?
        };
        self.metadata.get_or_init(read).as_ref()
    }
}

/// Returns the SHA-256 of a module in hex, by which policies and caches know it.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns the wasm binary in a module's file, without a `#!` line; `None` for other kinds.
#[must_use]
pub fn wasm_bytes(bytes: &[u8]) -> Option<&[u8]> {
    detect::detect(bytes).is_ok_and(|found| found.kind.is_wasm()).then(|| kinds::skip_shebang(bytes))
}
