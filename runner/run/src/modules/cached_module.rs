//! Facts about a module's file that was read before, so that an unchanged file need not be read again: all that a run
//! needs of a wasm module whose compiled code is in the cache. They are stored next to that code.

use modbox_cleanup::Cleanup;
use modbox_kinds::Kind;
use modbox_kinds::detect::Detection;
use modbox_vocabulary::FileFingerprint;
use modbox_wasm::CompileCache;
use serde::{Deserialize, Serialize};
use tracing::debug;

/// Facts about a wasm module, computed from its bytes and stored in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CachedModule {
    /// Size in bytes, without a `#!` line.
    pub(crate) size: u64,
    /// SHA-256 in hex, without a `#!` line. Another name than in notes of older releases, which included that line.
    #[serde(rename = "module_digest")]
    pub(crate) digest: String,
    kind: String,
    /// Reason for the kind.
    reason: String,
    /// The text of its metadata section.
    pub(crate) metadata: Option<String>,
}

impl CachedModule {
    pub(crate) fn new(size: u64, digest: &str, detection: &Detection, metadata: Option<String>) -> Self {
        // The convention follows from the metadata and the file's name.
        let kind = detection.kind.without_convention().to_string();
        let reason = detection.reason.clone();
        Self { size, digest: digest.to_owned(), kind, reason, metadata }
    }

    /// Returns the kind, and the reason for it.
    pub(crate) fn detection(&self) -> Option<Detection> {
        let kind = self.kind.parse().ok().filter(|kind: &Kind| kind.is_wasm())?;
        Some(Detection { kind, reason: self.reason.clone() })
    }

    /// Looks up the facts about a file with this fingerprint.
    pub(crate) fn recall(cache: &CompileCache, file: &FileFingerprint) -> Option<Self> {
        let known = serde_json::from_slice(&cache.store().recall(file)?).ok();
        debug!(known = known.is_some(), "looked for the module among those that were read before");
        known
    }

    /// Stores the facts for a file with this fingerprint. If that fails, the file is read again next time.
    pub(crate) fn remember(&self, cache: &CompileCache, file: &FileFingerprint, cleanup: &Cleanup) {
        let remembered = serde_json::to_vec(self).map(|note| cache.store().remember(file, &note, cleanup));
        debug!(?remembered, "noted what the module is");
    }
}
