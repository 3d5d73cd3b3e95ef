//! A module that is ready to be run, once or many times.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use modbox_argument_spec::Metadata;
use modbox_cleanup::Cleanup;
use modbox_kinds::Kind;
use modbox_kinds::detect::{self, DetectError, Detection};
use modbox_vocabulary::{FileFingerprint, WasmFormat};
use modbox_wasm::{CompileCache, LoadedModule, WasmError};
use sha2::{Digest, Sha256};

use crate::app::documentation;
use crate::app::known::Known;
use crate::app::locate::{self, LocateError, ModuleFile};
use crate::app::metadata::WasmInfo;

/// A module's bytes with what follows from them. What is costly is found out once: the digest and the kind when it is
/// made, metadata and compiled code when a run first needs them. Shared by threads as `&Module`.
#[derive(Debug)]
pub struct Module {
    path: PathBuf,
    size: u64,
    bytes: OnceLock<Arc<[u8]>>,
    /// Where the bytes are, until somebody needs them.
    unread: Option<File>,
    digest: String,
    detection: Result<Detection, DetectError>,
    metadata: OnceLock<Option<Metadata>>,
    documentation: OnceLock<Option<Metadata>>,
    pub(super) loaded: OnceLock<LoadedModule>,
    /// What is wrong with it, so that no engine will load it.
    pub(super) unloadable: OnceLock<Arc<WasmError>>,
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
            bytes = modbox_kinds::skip_shebang(&bytes).into();
        }
        let size = bytes.len() as u64;
        Self {
            path,
            size,
            bytes: bytes.into(),
            unread: None,
            digest,
            detection,
            metadata: OnceLock::new(),
            documentation: OnceLock::new(),
            loaded: OnceLock::new(),
            unloadable: OnceLock::new(),
        }
    }

    /// Opens a module's file. One that has been the same since modbox last read it is known again by what the `cache`
    /// says, and read only when it has to be compiled. With `kind`, takes it for that kind.
    ///
    /// # Errors
    ///
    /// A file that is not regular, too large, or cannot be read.
    pub fn open(
        path: &Path,
        kind: Option<Kind>,
        cache: Option<&CompileCache>,
        cleanup: &Cleanup,
    ) -> Result<Self, LocateError> {
        let (file, metadata) = locate::open(path)?;
        let before = FileFingerprint::from(&metadata);
        let cache = cache.filter(|_| kind.is_none());
        if let Some(known) = cache.and_then(|cache| Known::recall(cache, &before))
            && let Some(detection) = known.detection()
        {
            return Ok(Self::known(path, file, known, detection));
        }
        let bytes = locate::contents(path, &file, &metadata)?;
        let module = Self::new(ModuleFile { path: path.to_owned(), bytes }, kind);
        // What changed while it was read is not what was read.
        let unchanged = file.metadata().is_ok_and(|after| FileFingerprint::from(&after) == before);
        if let Some(cache) = cache.filter(|_| unchanged) {
            module.remember(cache, &before, cleanup);
        }
        Ok(module)
    }

    fn known(path: &Path, file: File, known: Known, detection: Detection) -> Self {
        let Known { size, digest, metadata, .. } = known;
        // What is wrong with the text was no obstacle when the module was first read, and is none now.
        let metadata = metadata.and_then(|text| Metadata::from_json(&text).ok());
        Self {
            path: path.to_owned(),
            size,
            bytes: OnceLock::new(),
            unread: Some(file),
            digest,
            detection: Ok(detection),
            metadata: metadata.into(),
            documentation: OnceLock::new(),
            loaded: OnceLock::new(),
            unloadable: OnceLock::new(),
        }
    }

    /// Notes what was found out, for the next time. Where that fails, the next time takes longer.
    fn remember(&self, cache: &CompileCache, file: &FileFingerprint, cleanup: &Cleanup) {
        let Some(detection) = self.detection.as_ref().ok().filter(|found| found.kind.is_wasm()) else { return };
        let info = self.bytes.get().and_then(|bytes| WasmInfo::parse(bytes).ok());
        let Some(WasmInfo { metadata, .. }) = info else { return };
        Known::new(self.size, &self.digest, detection, metadata).remember(cache, file, cleanup);
    }

    /// Returns the file, as it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how many bytes there are, of a wasm module without a `#!` line.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the whole file, of a wasm module without a `#!` line.
    ///
    /// # Errors
    ///
    /// A file that cannot be read any more or that is another one now. Only modules that were [opened](Self::open) and
    /// known fail.
    pub fn bytes(&self) -> Result<&Arc<[u8]>, LocateError> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let changed = || LocateError::Changed(self.path.clone());
        let failed = |source| LocateError::Read { path: self.path.clone(), source };
        let file = self.unread.as_ref().ok_or_else(changed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.len() > locate::MAX_MODULE {
            return Err(changed());
        }
        (&*file).rewind().map_err(failed)?;
        let mut bytes = locate::contents(&self.path, file, &metadata)?;
        if digest(&bytes) != self.digest {
            return Err(changed());
        }
        if bytes.starts_with(b"#!") {
            bytes = modbox_kinds::skip_shebang(&bytes).into();
        }
        // Another thread may have been first; both read the same.
        Ok(self.bytes.get_or_init(|| bytes))
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
        if self.format().is_some() || self.detection.is_err() {
            return None;
        }
        let read = || documentation::read(&self.path, self.bytes().ok()?);
        self.documentation.get_or_init(read).as_ref()
    }

    /// Returns what a wasm module says of itself, if it says something that can be read.
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        let read = || {
            self.format()?;
            WasmInfo::parse(self.bytes().ok()?).ok()?.metadata().ok()?
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
    detect::detect(bytes).is_ok_and(|found| found.kind.is_wasm()).then(|| modbox_kinds::skip_shebang(bytes))
}
