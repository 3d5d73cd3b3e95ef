//! A loaded module, ready to run once or many times.

use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use modbox_argument_spec::Metadata;
use modbox_cleanup::Cleanup;
use modbox_closure::Part;
use modbox_kinds::Kind;
use modbox_kinds::ansiballz::{Payload, ReceivedPayload};
use modbox_kinds::detect::{self, DetectError, Detection};
use modbox_providers::Metadata as ProviderMetadata;
use modbox_vocabulary::{FileFingerprint, WasmFormat};
use modbox_wasm::{CompileCache, WasmError};

use crate::module_digest::digest;
use crate::modules::cached_module::CachedModule;
use crate::modules::closure::known::KnownClosures;
use crate::modules::declared_options::DeclaredOptions;
use crate::modules::documentation::{self, FragmentFolders};
use crate::modules::locate::{self, LocateError, ModuleFile};
use crate::modules::managed::managed_table::ManagedTable;
use crate::modules::metadata::WasmInfo;
use crate::modules::path_uses::{ModuleTable, qualified_name};
use crate::modules::provider_section;
use crate::modules::resident_module::ResidentModule;

/// Folder that no file can be in, for the path of a module that has no file: nothing beside it is ever read.
pub const NOWHERE: &str = "/dev/null";

/// A module's bytes and the facts derived from them. Costly facts are computed once: the digest and the kind when the
/// module is made, metadata and compiled code when a run first needs them. Threads share it as `&Module`.
#[derive(Debug)]
pub struct Module {
    path: PathBuf,
    size: u64,
    bytes: OnceLock<Arc<[u8]>>,
    /// Open file to read `bytes` from when they are first needed.
    unread: Option<File>,
    digest: String,
    detection: Result<Detection, DetectError>,
    metadata: OnceLock<Option<Metadata>>,
    documentation: OnceLock<(Option<Metadata>, Vec<Part>)>,
    path_table: OnceLock<Option<ModuleTable>>,
    managed_table: OnceLock<Option<ManagedTable>>,
    /// The metadata file beside a provider, with its path, if there is one.
    pub(crate) sidecar: OnceLock<Option<(PathBuf, Vec<u8>)>>,
    /// What was found of its parts.
    pub(crate) closures: KnownClosures,
    declared: OnceLock<DeclaredOptions>,
    /// Declaration of a provider.
    pub(crate) provider: OnceLock<Arc<ProviderMetadata>>,
    pub(crate) resident: OnceLock<ResidentModule>,
    /// The imports that a Python module arrived with.
    pub(crate) received: Option<Payload>,
    /// Error that keeps every engine from loading the module.
    pub(crate) unloadable: OnceLock<Arc<WasmError>>,
}

impl Module {
    /// Recognises a module by its bytes, or takes it for `kind` if given. A provider is recognised by the name of its
    /// file, or by the metadata of a component. A module of unknown kind can still be run:
    /// the report of that run says what is wrong.
    #[must_use]
    pub fn new(file: ModuleFile, kind: Option<Kind>) -> Self {
        let ModuleFile { path, mut bytes } = file;
        let detection = match kind {
            Some(_) => detect::choose(kind, &bytes),
            None => provider_section::detect_file(&path, &bytes),
        };
        // A guest is only its binary; the `#!` line is for starting the file directly. One key of a policy fits both forms.
        if detection.as_ref().is_ok_and(|found| found.kind.is_wasm()) && bytes.starts_with(b"#!") {
            bytes = modbox_kinds::skip_shebang(&bytes).into();
        }
        let digest = digest(&bytes);
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
            path_table: OnceLock::new(),
            managed_table: OnceLock::new(),
            sidecar: OnceLock::new(),
            closures: KnownClosures::default(),
            declared: OnceLock::new(),
            provider: OnceLock::new(),
            resident: OnceLock::new(),
            received: None,
            unloadable: OnceLock::new(),
        }
    }

    /// Makes a module of a payload, which has its imports with it. Its path ends with that of its source in the payload.
    #[must_use]
    pub fn received(received: &ReceivedPayload) -> Self {
        let path = Path::new(NOWHERE).join(received.payload.module.file(false));
        let module = Self::new(ModuleFile { path, bytes: received.source() }, Some(Kind::Python));
        Self { received: Some(received.payload.clone()), ..module }
    }

    /// Returns whether the module arrived with its imports.
    #[must_use]
    pub fn is_received(&self) -> bool {
        self.received.is_some()
    }

    /// Opens a module's file. If the file is unchanged since modbox last read it, its facts come from `cache`, and the
    /// file is read only when it has to be compiled. With `kind`, takes it for that kind.
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
        if let Some(cached) = cache.and_then(|cache| CachedModule::recall(cache, &before))
            && let Some(detection) = cached.detection()
        {
            locate::check_name(path, || &cached.digest)?;
            return Ok(Self::from_cache(path, file, cached, detection));
        }
        let bytes = locate::contents(path, &file, &metadata)?;
        let module = Self::new(ModuleFile { path: path.to_owned(), bytes }, kind);
        locate::check_name(path, || module.digest())?;
        // If the file changed while it was read, the fingerprint is not that of these bytes.
        let unchanged = file.metadata().is_ok_and(|after| FileFingerprint::from(&after) == before);
        if let Some(cache) = cache.filter(|_| unchanged) {
            module.remember(cache, &before, cleanup);
        }
        Ok(module)
    }

    fn from_cache(path: &Path, file: File, cached: CachedModule, detection: Detection) -> Self {
        let CachedModule { size, digest, metadata, .. } = cached;
        let detection = provider_section::with_convention(detection, path, metadata.as_deref());
        let declared = if metadata.is_none() { DeclaredOptions::None.into() } else { OnceLock::new() };
        // Invalid metadata did not stop the module when it was first read, and does not now.
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
            path_table: OnceLock::new(),
            managed_table: OnceLock::new(),
            sidecar: OnceLock::new(),
            closures: KnownClosures::default(),
            declared,
            provider: OnceLock::new(),
            resident: OnceLock::new(),
            received: None,
            unloadable: OnceLock::new(),
        }
    }

    /// Stores the module's facts in the cache for the next run. If that fails, the next run only takes longer.
    fn remember(&self, cache: &CompileCache, file: &FileFingerprint, cleanup: &Cleanup) {
        let Some(detection) = self.detection.as_ref().ok().filter(|found| found.kind.is_wasm()) else { return };
        let info = self.bytes.get().and_then(|bytes| WasmInfo::parse(bytes).ok());
        let Some(WasmInfo { metadata, .. }) = info else { return };
        cache.remember_name(&self.digest, &self.own_name(), cleanup);
        CachedModule::new(self.size, &self.digest, detection, metadata).remember(cache, file, cleanup);
    }

    /// Returns the name in the module's metadata, or else that of its file without the extension.
    fn own_name(&self) -> String {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.metadata().map_or_else(stem, |metadata| metadata.name.clone())
    }

    /// Returns the path, as the caller gave it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path for reports: that of a module that arrived with its imports is the one in its payload.
    #[must_use]
    pub fn shown_path(&self) -> &Path {
        self.path.strip_prefix(NOWHERE).unwrap_or(&self.path)
    }

    /// Returns the size in bytes; that of a wasm module excludes a `#!` line.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the whole file; that of a wasm module excludes a `#!` line.
    ///
    /// # Errors
    ///
    /// A file that cannot be read any more or was replaced. Only modules that were [opened](Self::open) and whose facts
    /// came from the cache can fail.
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
        if bytes.starts_with(b"#!") {
            bytes = modbox_kinds::skip_shebang(&bytes).into();
        }
        if digest(&bytes) != self.digest {
            return Err(changed());
        }
        // Another thread may have been first; both read the same bytes.
        Ok(self.bytes.get_or_init(|| bytes))
    }

    /// Returns the SHA-256 of the file, in hex; that of a wasm module excludes a `#!` line.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the kind, and the reason for it.
    ///
    /// # Errors
    ///
    /// Bytes of unknown kind, or of another kind than the caller declared.
    pub fn detection(&self) -> Result<&Detection, &DetectError> {
        self.detection.as_ref()
    }

    /// Returns the wasm format; `None` for a native module.
    #[must_use]
    pub fn format(&self) -> Option<WasmFormat> {
        self.detection.as_ref().ok()?.kind.format()
    }

    /// Returns the documentation of a native module's options, if it can be read. `folders` has the fragments of the
    /// first call.
    pub(crate) fn documentation(&self, folders: impl FnOnce() -> FragmentFolders) -> Option<&Metadata> {
        if self.format().is_some() || self.detection.is_err() {
            return None;
        }
        self.documented(folders).0.as_ref()
    }

    /// Returns the files beside a native module that say which of its options are paths. `folders` is as for its documentation.
    pub(crate) fn documents(&self, folders: impl FnOnce() -> FragmentFolders) -> &[Part] {
        &self.documented(folders).1
    }

    /// Reads the documentation once, so that what grants is what was hashed.
    fn documented(&self, folders: impl FnOnce() -> FragmentFolders) -> &(Option<Metadata>, Vec<Part>) {
        self.documentation.get_or_init(|| {
            let mut parts = Vec::new();
            let bytes = self.bytes().ok();
            let found = bytes.and_then(|bytes| documentation::read(&self.path, bytes, folders, &mut parts));
            // Several fragments may be in one file.
            parts.sort();
            parts.dedup();
            (found, parts)
        })
    }

    /// Returns what modbox knows of the paths of a native module's options. A relative path of the module is one in
    /// `directory`.
    pub(crate) fn path_table(&self, directory: &Path) -> Option<&ModuleTable> {
        if self.format().is_some() {
            return None;
        }
        let read = || ModuleTable::of(&qualified_name(&directory.join(&self.path))?);
        self.path_table.get_or_init(read).as_ref()
    }

    /// Returns what modbox knows of what a native module manages besides paths. A relative path of the module is one in `directory`.
    pub(crate) fn managed_table(&self, directory: &Path) -> Option<&ManagedTable> {
        if self.format().is_some() {
            return None;
        }
        let read = || ManagedTable::of(&qualified_name(&directory.join(&self.path))?);
        self.managed_table.get_or_init(read).as_ref()
    }

    /// Returns what the module says of its options before it runs.
    pub(crate) fn declared_options(&self) -> &DeclaredOptions {
        let read = || match (self.metadata(), self.bytes()) {
            (Some(metadata), _) => DeclaredOptions::of_metadata(metadata),
            (None, Ok(bytes)) => DeclaredOptions::read(self.detection().ok().map(|found| found.kind), bytes),
            (None, Err(_)) => DeclaredOptions::read(None, &[]),
        };
        self.declared.get_or_init(read)
    }

    /// Returns a wasm module's metadata, if it has any that can be read.
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        let read = || {
            self.format()?;
            WasmInfo::parse(self.bytes().ok()?).ok()?.metadata().ok()?
        };
        self.metadata.get_or_init(read).as_ref()
    }
}
